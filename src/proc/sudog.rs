//! The sudogs that nobody uses: a cache for each P, and one for all.

use std::sync::atomic::Ordering;

use crate::lock::rank::{LockRank, lock_with_rank_may_acquire};
use crate::lock::{lock, unlock};
use crate::panic::throw;
use crate::runtime2::{M, P, Slice, Sudog, sched};
use crate::stack::with_room;

type Cached = Option<&'static Sudog>;

impl Slice<Cached> {
    fn push(&self, s: &'static Sudog) {
        // SAFETY: the caller has seen that there is room; the P is its own.
        unsafe { self.ptr.get().add(self.len.get()).write(Some(s)) };
        self.len.set(self.len.get() + 1);
    }

    #[inline(always)]
    fn pop(&self) -> Option<&'static Sudog> {
        let last = self.len.get().checked_sub(1)?;
        self.len.set(last);
        // SAFETY: elements below the length were written.
        unsafe { self.ptr.get().add(last).read() }
    }
}

/// Points the cache of a new or destroyed P at its buffer, empty.
pub(crate) fn reset_sudogcache(pp: &P) {
    pp.sudogcache.ptr.set(pp.sudogbuf.as_ptr().cast::<Cached>().cast_mut());
    pp.sudogcache.len.set(0);
    pp.sudogcache.cap.set(pp.sudogbuf.len());
}

/// A sudog, from the cache of this M's P, the central one, or new. Go's `acquireSudog`.
#[inline]
pub(crate) fn acquire_sudog(mp: &'static M) -> &'static Sudog {
    let Some(pp) = mp.p.get() else { throw("acquireSudog: no p") };
    lock_with_rank_may_acquire(&sched().sudoglock, LockRank::SUDOG);
    let s = match pp.sudogcache.pop() {
        Some(s) => s,
        None => with_room(|| refill(pp)), // it may allocate
    };
    if !s.elem.load(Ordering::Relaxed).is_null() {
        throw("acquireSudog: found s.elem != nil in cache");
    }
    s
}

/// Fills half of the P's cache from the central one, or with new sudogs, and takes one.
#[cold]
#[inline(never)]
fn refill(pp: &P) -> &'static Sudog {
    let half = pp.sudogcache.cap.get() / 2;
    lock(&sched().sudoglock);
    while pp.sudogcache.len.get() < half
        && let Some(s) = sched().sudogcache.get()
    {
        sched().sudogcache.set(s.next.get());
        s.next.set(None);
        pp.sudogcache.push(s);
    }
    unlock(&sched().sudoglock);
    pp.sudogcache.pop().unwrap_or_else(|| {
        // A block at a time: a million waiters' sudogs shouldn't each pay malloc's
        // header. They are never freed.
        let block: Box<[Sudog]> = (0..half).map(|_| Sudog::default()).collect();
        let mut block = Box::leak(block).iter();
        let s = block.next();
        block.for_each(|s| pp.sudogcache.push(s));
        s.unwrap_or_else(|| throw("acquireSudog: empty block"))
    })
}

/// Gives a sudog back to the cache of this M's P. Go's `releaseSudog`.
#[inline]
pub(crate) fn release_sudog(mp: &'static M, s: &'static Sudog) {
    check_unused(s);
    let Some(pp) = mp.p.get() else { throw("releaseSudog: no p") };
    lock_with_rank_may_acquire(&sched().sudoglock, LockRank::SUDOG);
    if pp.sudogcache.len.get() == pp.sudogcache.cap.get() {
        spill(pp);
    }
    pp.sudogcache.push(s);
}

#[inline(always)]
fn check_unused(s: &Sudog) {
    if !s.elem.load(Ordering::Relaxed).is_null() {
        throw("runtime: sudog with non-nil elem");
    }
    if s.is_select.get() {
        throw("runtime: sudog with non-false isSelect");
    }
    if !s.next.is_null() {
        throw("runtime: sudog with non-nil next");
    }
    if !s.prev.is_null() {
        throw("runtime: sudog with non-nil prev");
    }
    if !s.waitlink.is_null() {
        throw("runtime: sudog with non-nil waitlink");
    }
    if !s.c.get().is_null() {
        throw("runtime: sudog with non-nil c");
    }
}

/// Moves half of the P's cache to the central one.
#[cold]
#[inline(never)]
fn spill(pp: &P) {
    let half = pp.sudogcache.cap.get() / 2;
    let first = pp.sudogcache.pop();
    let mut last = first;
    while pp.sudogcache.len.get() > half {
        let s = pp.sudogcache.pop();
        if let Some(last) = last {
            last.next.set(s);
        }
        last = s;
    }
    lock(&sched().sudoglock);
    if let Some(last) = last {
        last.next.set(sched().sudogcache.get());
    }
    sched().sudogcache.set(first);
    unlock(&sched().sudoglock);
}
