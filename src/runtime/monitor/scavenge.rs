//! Handing memory back to the kernel: what Go's scavenger does for its heap.
//!
//! Unused items are on free lists: dead G's with their home pages and the room below, segments,
//! sudogs, channels. The next user takes an item from its list without a system call and without a
//! page fault. After a burst the items would stay there forever, so items that nobody has needed
//! for a while go back to the kernel.
//!
//! # What nobody has needed
//!
//! Time is cut into intervals of a second. A list's [`Level`](crate::runtime::data::ext::Level)
//! notes the least number of items that were on the list in the current interval. All users of the
//! list together could have done with that many items less. At the end of the interval this number
//! is the list's *surplus*, which goes back during the next interval. A program that needs its
//! memory again and again, at least once a second, keeps the memory. Items have no times of their
//! own, and taking an item from a list costs only one more comparison. Only the common lists have a
//! level, and P's use them seldom.
//!
//! # How it comes to the common lists
//!
//! Each P has lists of its own, which no lock protects. The lists of a P that was idle for an
//! interval are emptied by the thread that runs this, with `sched.lock` held, so that no M can make
//! the P run meanwhile. A P that isn't idle is asked to empty its own lists (`ext.max_free`), and
//! does so when the next goroutine ends there. A P that runs one goroutine forever keeps its items:
//! at most 64 dead G's of each kind.
//!
//! # How it goes back
//!
//! A few dozen items at a time are taken from a list, as if they had never been on it. The pages of
//! these items go back to the kernel. Then the items go back to the
//! [arena](crate::runtime::mem::arena) from which they were cut. A dead G is first taken out of the
//! list of all G's, since its page will read as zero. When the item is needed again, it is cut and
//! settled as if for the first time.
//!
//! Sysmon drives this, and is never held up for long: [`scavenge`] works for a few milliseconds,
//! and returns the time of its next call. When nothing is left on any list, it returns none, and
//! the process can sleep for good.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::runtime::base::debug::period;
use crate::runtime::base::os::nanotime;
use crate::runtime::base::this::{started, this_p};
use crate::runtime::data::ext::NUM_STACK_ORDERS;
use crate::runtime::data::hchan::Hchan;
use crate::runtime::data::runtime2::sched;
use crate::runtime::g::gfree::{self, Dead};
use crate::runtime::g::sudog::{self, Sudogs};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::mem::segment::{LARGE_SIZES, Large, Small};
use crate::runtime::mem::{cache, home, pool, segment};
use crate::runtime::p::free_lists::purge;
use crate::runtime::p::procs::{gomaxprocs, procs};
use crate::runtime::tls;

/// Nanoseconds of an interval, before [`period`] scales it.
const INTERVAL: i64 = 1_000_000_000;
/// Nanoseconds for which one call of [`scavenge`] works.
const SLICE: i64 = 4_000_000;
/// Nanoseconds of the pause after that if all P's are in use; less if fewer are.
const PAUSE: i64 = 16_000_000;

/// Empties the lists of each P that has been idle since the last call, or, if `all`, of each P that
/// is idle. Asks the other P's to empty theirs. Returns whether a P was in use since the last call.
fn purge_ps(all: bool) -> bool {
    let mut in_use = false;
    for &pp in &procs().allp {
        lock(&sched().lock);
        let tick = pp.schedtick.load(Ordering::Relaxed);
        let slept = pp.ext.idle_tick.replace(tick) == tick;
        let idle = procs().idlep_mask.read(pp.id.get());
        if idle && (slept || all) {
            purge(pp);
        } else if !idle {
            gfree::ask_to_purge(pp);
        }
        unlock(&sched().lock);
        in_use |= !idle || !slept;
    }
    in_use
}

/// Hands back a batch of items that nobody has needed; false if there are none.
fn hand_back() -> bool {
    gfree::hand_back()
        || segment::hand_back()
        || segment::hand_back_large()
        || sudog::hand_back()
        || pool::hand_back::<Hchan>()
}

/// Ends the interval of each list. Returns whether there is anything on a list.
pub(in crate::runtime) fn age() -> bool {
    cache::age(home::kinds().map(Dead))
        | cache::age((0..NUM_STACK_ORDERS).map(Small))
        | cache::age((0..LARGE_SIZES).map(Large))
        | cache::age([Sudogs])
        | cache::age([&sched().ext.hchans])
}

/// Works for a few milliseconds at handing back items that nobody has needed for a while, if there
/// are any. Returns the time of its next call; none if all P's are idle and nothing is left on a
/// list, so that no call is needed until a P has run again. `now` is [`nanotime`].
///
/// Called by one thread, which has no P.
pub(super) fn scavenge(now: i64) -> Option<i64> {
    /// The time at which there will be something to do.
    static NEXT: AtomicI64 = AtomicI64::new(0);
    /// The end of the interval.
    static INTERVAL_ENDS: AtomicI64 = AtomicI64::new(0);

    if now < NEXT.load(Ordering::Relaxed) {
        return Some(NEXT.load(Ordering::Relaxed));
    }
    if INTERVAL_ENDS.load(Ordering::Relaxed) == 0 {
        // The first interval begins: the items on the lists now aren't old.
        INTERVAL_ENDS.store(now + period(INTERVAL), Ordering::Relaxed);
    }
    let mut needed = true;
    if now >= INTERVAL_ENDS.load(Ordering::Relaxed) {
        INTERVAL_ENDS.store(now + period(INTERVAL), Ordering::Relaxed);
        needed = purge_ps(false) | age();
    }
    let until = nanotime() + SLICE;
    let mut next = INTERVAL_ENDS.load(Ordering::Relaxed);
    while hand_back() {
        let now = nanotime();
        if now >= until {
            let ps = i64::from(gomaxprocs());
            let in_use = ps - i64::from(sched().npidle.load(Ordering::Relaxed));
            next = next.min(now + PAUSE * in_use / ps);
            break;
        }
    }
    NEXT.store(next, Ordering::Relaxed);
    needed.then_some(next)
}

/// Hands back all items that are free now, however long that takes. Go's `debug.FreeOSMemory`.
pub(crate) fn free_os_memory() {
    if !started() {
        return;
    }
    if let Some(pp) = this_p() {
        purge(pp);
    }
    purge_ps(true);
    age();
    age();
    while hand_back() {}
    tls::trim();
}
