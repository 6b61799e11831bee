//! The hooks that call the profiler. A program that makes no profile contains no other part of it.
//! An unset hook costs a load and a branch, where a thread begins or ends and where a goroutine has
//! waited.

use std::sync::OnceLock;
use std::sync::atomic::{Ordering, fence};

use crate::runtime::arch::Sigctxt;
use crate::runtime::data::runtime2::{G, M, sched};
use crate::runtime::prof::contention::Contention;

/// Records a wait of the given nanoseconds, if the wait is sampled. Set once a rate was set.
pub(super) static RECORD_CONTENTION: OnceLock<fn(Contention, i64)> = OnceLock::new();

/// The functions of the sampler of threads.
pub(in crate::runtime) struct Sampler {
    /// Called when the calling thread, the M's, has begun; other threads know its id.
    pub(in crate::runtime) begins: fn(&M),
    /// Called when the calling thread ends; for other threads it isn't the M's any more.
    pub(in crate::runtime) ends: fn(&M),
    /// Called in the handler of a SIGPROF. Returns whether the signal is for nobody else.
    pub(in crate::runtime) signaled: fn(Option<&M>, Option<&G>, &libc::siginfo_t, &Sigctxt<'_>) -> bool,
}

/// Set once a profile was begun.
static SAMPLER: OnceLock<Sampler> = OnceLock::new();

/// The sampler, if one was ever set.
#[inline(always)]
pub(in crate::runtime) fn sampler() -> Option<&'static Sampler> {
    if cfg!(feature = "pprof") { SAMPLER.get() } else { None }
}

/// Sets the sampler, for good.
#[cfg(feature = "pprof")]
pub(in crate::runtime) fn set_sampler(sampler: fn() -> Sampler) {
    SAMPLER.get_or_init(sampler);
}

/// Notes that the calling thread, that of `mp`, has begun; other threads know its id. Part of Go's
/// `execute`.
#[inline(always)]
pub(in crate::runtime) fn thread_begins(mp: &M) {
    if cfg!(feature = "pprof") && is_sampled() {
        sampler().inspect(|sampler| (sampler.begins)(mp));
    }
}

/// Notes that the calling thread, that of `mp`, ends; for other threads it isn't the M's any more.
#[inline(always)]
pub(in crate::runtime) fn thread_ends(mp: &M) {
    if cfg!(feature = "pprof") && is_sampled() {
        sampler().inspect(|sampler| (sampler.ends)(mp));
    }
}

/// Whether threads have timers. For a thread that has just changed its `procid`.
fn is_sampled() -> bool {
    // Pairs with the fence in set_rate: either this thread sees the rate, or the thread in set_rate
    // sees the id. The sampler is set before the rate.
    fence(Ordering::SeqCst);
    sched().profilehz.load(Ordering::Acquire) != 0
}
