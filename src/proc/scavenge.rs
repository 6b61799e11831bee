//! Handing memory back to the kernel: what Go's scavenger does for its heap.
//!
//! What nobody uses is on free lists: dead G's with their home pages and the room below, segments,
//! sudogs, channels. There it is at hand for the next, without a system call and without a page
//! fault. After a burst it would stay there for good; so what nobody has needed for a while goes back.
//!
//! # What nobody has needed
//!
//! Time is cut into intervals of a second. A list's [`Level`] notes the least number that was on it
//! in this interval. So many were there from its beginning to its end: whoever took some in between
//! would have managed with that many less. At the end of the interval this number is its *surplus*,
//! and while the next one runs, that goes back. A program that needs its memory again and again, at
//! least once in a second, keeps what it needs. No item has a time of its own, and taking one from a
//! list costs a comparison more; only the common lists have a level, which P's go to seldom.
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
//! pages go back to the kernel, and then they go back to the [arena](crate::stack::arena) that they
//! were cut from. A dead G is first taken out of the list of all G's, since its page will read as
//! zero. When it is needed again, it is cut and settled as if for the first time.
//!
//! Sysmon drives this, and is never held up for long: [`scavenge`] works for a few milliseconds, and
//! says when it is to be called next. When nothing is left on any list it says so, and the process can
//! sleep for good.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::arch::systemstack;
use crate::cache::{self, Cache};
use crate::chan::hchan::Hchan;
use crate::lock::{lock, unlock};
use crate::os::nanotime;
use crate::pool;
use crate::proc::boot::started;
use crate::proc::gfree::{self, Dead, LOCAL_MAX, gfpurge};
use crate::proc::m::this_p;
use crate::proc::procs::{gomaxprocs, procs};
use crate::proc::sudog::{self, Sudogs};
use crate::runtime2::{NUM_STACK_ORDERS, P, sched};
use crate::stack::home;
use crate::stack::large::{self, Large, SIZES};
use crate::stack::segment::{self, Small, stackcache_clear};

/// Nanoseconds of an interval.
const INTERVAL: i64 = 1_000_000_000;
/// Nanoseconds for which [`scavenge`] works at once.
const SLICE: i64 = 4_000_000;
/// Nanoseconds for which it then lets others work if all P's are in use; less if there are fewer.
const PAUSE: i64 = 16_000_000;

/// How many are taken from a list at once to be handed back.
pub(crate) const BATCH: usize = 64;

/// How many are on a free list, and how many of them nobody has needed. Whoever holds the list's
/// lock may use it.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Level {
    len: Cell<usize>,
    /// The least that `len` was in this interval.
    low: Cell<usize>,
    /// What of the last interval's `low` has yet to go back.
    surplus: Cell<usize>,
}

impl Level {
    /// The level of an empty list.
    pub(crate) const fn new() -> Self {
        Level { len: Cell::new(0), low: Cell::new(0), surplus: Cell::new(0) }
    }

    /// How many are on the list.
    pub(crate) fn len(&self) -> usize {
        self.len.get()
    }

    /// `n` were put on the list.
    #[inline]
    pub(crate) fn put(&self, n: usize) {
        self.len.set(self.len.get() + n);
    }

    /// `n` were taken from it, to be used. There may be some that don't count: what can't be handed
    /// back.
    #[inline]
    pub(crate) fn get(&self, n: usize) {
        self.len.set(self.len.get().saturating_sub(n));
        self.low.set(self.low.get().min(self.len.get()));
    }

    /// How many of at most `max` are to be taken from the list to be handed back.
    pub(crate) fn take(&self, max: usize) -> usize {
        let n = max.min(self.surplus.get()).min(self.low.get());
        for count in [&self.len, &self.low, &self.surplus] {
            count.set(count.get() - n);
        }
        n
    }

    /// An interval ends.
    pub(crate) fn age(&self) {
        self.surplus.set(self.low.replace(self.len.get()));
    }
}

/// Empties the lists of `pp`, this M's P, which [`gfput`](crate::proc::gfree::gfput) has found asked to.
#[cold]
#[inline(never)]
pub(crate) fn purge_as_asked(pp: Option<&P>) {
    let Some(pp) = pp else { return };
    pp.ext.max_free.store(LOCAL_MAX, Ordering::Relaxed);
    systemstack(|| purge(pp));
}

/// Empties the lists of `pp`: this M's P, or an idle one while `sched.lock` is held. Not on a goroutine's
/// stack.
pub(crate) fn purge(pp: &P) {
    let common = &sched().ext;
    gfpurge(pp);
    stackcache_clear(pp);
    Sudogs.spill(&pp.sudogcache, usize::MAX);
    common.hchans.spill(&pp.ext.hchans, usize::MAX);
    common.timers.spill(&pp.ext.timers, usize::MAX);
    common.x_regs.spill(&pp.ext.x_regs, usize::MAX);
}

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
fn age() -> bool {
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
pub(crate) fn scavenge(now: i64) -> Option<i64> {
    /// When there will be something to do.
    static NEXT: AtomicI64 = AtomicI64::new(0);
    /// When the interval ends.
    static INTERVAL_ENDS: AtomicI64 = AtomicI64::new(0);

    if now < NEXT.load(Ordering::Relaxed) {
        return Some(NEXT.load(Ordering::Relaxed));
    }
    if INTERVAL_ENDS.load(Ordering::Relaxed) == 0 {
        // The first one begins: what is on the lists by now isn't old.
        INTERVAL_ENDS.store(now + INTERVAL, Ordering::Relaxed);
    }
    let mut needed = true;
    if now >= INTERVAL_ENDS.load(Ordering::Relaxed) {
        INTERVAL_ENDS.store(now + INTERVAL, Ordering::Relaxed);
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_all_the_time_is_surplus() {
        let level = Level::default();
        level.put(10);
        level.age();
        assert_eq!(level.take(100), 0, "they have just come");
        level.get(3);
        level.put(5);
        level.age();
        assert_eq!((level.len(), level.take(4)), (12, 4));
        level.get(6);
        assert_eq!(level.take(100), 2, "one of the seven was needed after all");
        assert_eq!(level.take(100), 0);
        level.age();
        assert_eq!((level.len(), level.take(100), level.len()), (0, 0, 0));
    }
}
