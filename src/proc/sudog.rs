//! The sudogs that nobody uses: a cache for each P, and one for all. What has been on that for a while
//! goes [back](crate::proc::scavenge) to the arena that all are cut from.

use std::iter::from_fn;
use std::sync::atomic::Ordering;

use crate::lock::rank::{LockRank, lock_with_rank_may_acquire};
use crate::lock::{lock, unlock};
use crate::panic::throw;
use crate::proc::scavenge::{BATCH, Level};
use crate::runtime2::{M, P, Slice, Sudog, sched};
use crate::stack::arena::Arena;
use crate::stack::with_room;

/// Where sudogs are cut from.
static ARENA: Arena = Arena::new(size_of::<Sudog>(), 0);

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
    for s in from_fn(pop_central).take(half) {
        level().get(1);
        pp.sudogcache.push(s);
    }
    unlock(&sched().sudoglock);
    pp.sudogcache.pop().unwrap_or_else(|| {
        let cut =
            ARENA.cut(half).unwrap_or_else(|error| throw(&format!("out of memory for a sudog ({error})")));
        for i in 0..cut.count {
            // SAFETY: a sudog that nobody has: all zero, which is a new one, or as it was released.
            pp.sudogcache.push(unsafe { &*cut.start(i).cast() });
        }
        pp.sudogcache.pop().unwrap_or_else(|| throw("acquireSudog: nothing was cut"))
    })
}

/// The level of the central cache; its lock protects it.
fn level() -> &'static Level {
    &sched().ext.sudog_level
}

/// Takes a sudog from the central cache. `sudoglock` is held.
fn pop_central() -> Option<&'static Sudog> {
    let s = sched().sudogcache.get()?;
    sched().sudogcache.set(s.next.get());
    s.next.set(None);
    Some(s)
}

/// Gives a sudog back to the cache of this M's P. Go's `releaseSudog`.
#[inline]
pub(crate) fn release_sudog(mp: &'static M, s: &'static Sudog) {
    check_unused(s);
    let Some(pp) = mp.p.get() else { throw("releaseSudog: no p") };
    lock_with_rank_may_acquire(&sched().sudoglock, LockRank::SUDOG);
    if pp.sudogcache.len.get() == pp.sudogcache.cap.get() {
        spill(pp, pp.sudogcache.cap.get() / 2);
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

/// Moves what the P has in its cache to the central one, but `keep`.
#[cold]
#[inline(never)]
fn spill(pp: &P, keep: usize) {
    let surplus = pp.sudogcache.len.get() - keep;
    let first = pp.sudogcache.pop();
    let mut last = first;
    while pp.sudogcache.len.get() > keep {
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
    level().put(surplus);
    unlock(&sched().sudoglock);
}

/// Empties the P's cache.
pub(crate) fn purge(pp: &P) {
    if pp.sudogcache.len.get() > 0 {
        spill(pp, 0);
    }
}

/// Hands a batch of sudogs back that nobody has needed; false if there is none.
pub(crate) fn hand_back() -> bool {
    let mut starts = Vec::with_capacity(BATCH);
    lock(&sched().sudoglock);
    let unused = from_fn(pop_central).take(level().take(BATCH));
    starts.extend(unused.map(|s| std::ptr::from_ref(s).addr()));
    unlock(&sched().sudoglock);
    ARENA.put_back(&mut starts);
    !starts.is_empty()
}

/// For the central cache an interval ends; says whether there is anything in it.
pub(crate) fn age() -> bool {
    lock(&sched().sudoglock);
    level().age();
    let len = level().len();
    unlock(&sched().sudoglock);
    len != 0
}
