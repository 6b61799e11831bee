//! How many M's there are, and may be: Go's `mcount`, `checkmcount`, `mReserveID` and
//! `setMaxThreads`. And the list of all, `allm`.

use std::sync::atomic::{AtomicI32, Ordering};

use crate::runtime::base::fatal::throw;
use crate::runtime::base::print::eprintln;
use crate::runtime::data::link::{Link, SharedLink};
use crate::runtime::data::runtime2::{M, sched};
use crate::runtime::lock::{assert_lock_held, lock, unlock};

/// The list of all M's, linked through `alllink`. Go's `allm`.
pub(in crate::runtime) static ALLM: SharedLink<M> = SharedLink(Link::null());

/// How many M's are on the list of extra M's (`sched/extram.rs`). Go's `extraMLength`.
pub(in crate::runtime) static EXTRAM_LENGTH: AtomicI32 = AtomicI32::new(0);

/// How many M's there are. `sched.lock` is held. Go's `mcount`.
pub(in crate::runtime) fn mcount() -> i32 {
    (sched().mnext.get() - sched().nmfreed.get()) as i32
}

/// [`proc::mcount`](crate::proc::mcount).
pub(crate) fn mcount_now() -> i32 {
    lock(&sched().lock);
    let n = mcount();
    unlock(&sched().lock);
    n
}

/// Throws if there are too many M's. `sched.lock` is held. Go's `checkmcount`.
fn checkmcount() {
    assert_lock_held(&sched().lock);
    if mcount() > sched().maxmcount.get() {
        eprintln!("runtime: program exceeds {}-thread limit", sched().maxmcount.get());
        let detached = sched().ext.ndetached.load(Ordering::Relaxed);
        if detached != 0 {
            eprintln!(
                "gosched: {detached} of them are kept by goroutines that wait, or compute, in code outside of the \
                 scheduler (gosched::proc::set_max_threads)"
            );
        }
        throw("thread exhaustion");
    }
}

/// [`proc::set_max_threads`](crate::proc::set_max_threads). Go's `setMaxThreads`.
pub(crate) fn set_max_threads(max: i32) -> i32 {
    lock(&sched().lock);
    let out = sched().maxmcount.replace(max);
    checkmcount();
    unlock(&sched().lock);
    out
}

/// The number of an M to be made, which counts as running from here on. `sched.lock` is
/// held. Go's `mReserveID`.
pub(in crate::runtime) fn m_reserve_id() -> i64 {
    assert_lock_held(&sched().lock);
    let id = sched().mnext.get();
    sched().mnext.set(id + 1);
    checkmcount();
    id
}

/// Undoes the count of [`m_reserve_id`], for an M that couldn't be made.
pub(in crate::runtime) fn m_unreserve_id() {
    lock(&sched().lock);
    sched().nmfreed.set(sched().nmfreed.get() + 1);
    unlock(&sched().lock);
}

/// How many extra M's have no thread. `sched.lock` is held.
pub(in crate::runtime) fn extram_length() -> i32 {
    EXTRAM_LENGTH.load(Ordering::Relaxed)
}
