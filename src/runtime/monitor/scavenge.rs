//! Handing memory back to the kernel: what Go's scavenger does for its heap.
//!
//! What nobody uses is on free lists: dead G's with their home pages and the room below, segments,
//! sudogs, channels. There it is at hand for the next, without a system call and without a page
//! fault. After a burst it would stay there for good; so what nobody has needed for a while goes back.
//!
//! # What nobody has needed
//!
//! Time is cut into intervals of a second. A list's [`Level`](crate::runtime::data::level::Level) notes the
//! least number that was on it in this interval. So many were there from its beginning to its end: whoever
//! took some in between would have managed with that many less. At the end of the interval this number is its
//! *surplus*, and while the next one runs, that goes back. A program that needs its memory again and again,
//! at least once in a second, keeps what it needs. No item has a time of its own, and taking one from a list
//! costs a comparison more; only the common lists have a level, which P's go to seldom.
//!
//! # How it comes to the common lists
//!
//! Each P has lists of its own, which no lock protects. Of a P that was idle for an interval they are
//! emptied by whoever runs this, with `sched.lock` held: that keeps anyone from making the P run. One
//! that isn't idle is asked to empty its own (`ext.max_free`), and does so when the next goroutine
//! ends there. What a P has that runs one goroutine for ever stays: 64 dead G's of each kind at most.
//!
//! # How it goes back
//!
//! Some dozens at a time are taken from a list, which then is as if they had never been on it; their
//! pages go back to the kernel, and then they go back to the [arena](crate::runtime::mem::arena) that they
//! were cut from. A dead G is first taken out of the list of all G's, since its page will read as
//! zero. When it is needed again, it is cut and settled as if for the first time.
//!
//! Sysmon drives this, and is never held up for long: [`scavenge`] works for a few milliseconds, and
//! says when it is to be called next. When nothing is left on any list it says so, and the process can
//! sleep for good.

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
use crate::runtime::mem::cache::{self};
use crate::runtime::mem::large::{self, Large, SIZES};
use crate::runtime::mem::segment::{self, Small};
use crate::runtime::mem::{home, pool};
use crate::runtime::p::procs::{gomaxprocs, procs};
use crate::runtime::p::purge::purge;
use crate::runtime::tls;

/// Nanoseconds of an interval, before [`period`] scales it.
const INTERVAL: i64 = 1_000_000_000;
/// Nanoseconds for which [`scavenge`] works at once.
const SLICE: i64 = 4_000_000;
/// Nanoseconds for which it then lets others work if all P's are in use; less if there are fewer.
const PAUSE: i64 = 16_000_000;

/// Empties the lists of each P that has been idle since the last call, or, if `all`, is idle; asks
/// the others to do so. Says whether a P was in use since.
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

/// Hands a batch of what nobody has needed back; false if there is nothing.
fn hand_back() -> bool {
    gfree::hand_back()
        || segment::hand_back()
        || large::hand_back()
        || sudog::hand_back()
        || pool::hand_back::<Hchan>()
}

/// For each list an interval ends; says whether there is anything on one.
pub(in crate::runtime) fn age() -> bool {
    cache::age(home::kinds().map(Dead))
        | cache::age((0..NUM_STACK_ORDERS).map(Small))
        | cache::age((0..SIZES).map(Large))
        | cache::age([Sudogs])
        | cache::age([&sched().ext.hchans])
}

/// Works for some milliseconds at handing back what nobody has needed for a while, if there is
/// anything to do. Returns when it is to be called next, and none if that is no matter until a P has
/// run again: all P's are idle, and nothing is left on a list. `now` is [`nanotime`].
///
/// Called by one thread, which has no P.
pub(super) fn scavenge(now: i64) -> Option<i64> {
    /// When there will be something to do.
    static NEXT: AtomicI64 = AtomicI64::new(0);
    /// When the interval ends.
    static INTERVAL_ENDS: AtomicI64 = AtomicI64::new(0);

    if now < NEXT.load(Ordering::Relaxed) {
        return Some(NEXT.load(Ordering::Relaxed));
    }
    if INTERVAL_ENDS.load(Ordering::Relaxed) == 0 {
        // The first one begins: what is on the lists by now isn't old.
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

/// Hands back all that is free now, however long that takes. Go's `debug.FreeOSMemory`.
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
