//! The unused sudogs, in a cache for each P and a central cache: Go's `acquireSudog` and
//! `releaseSudog`. And the sudogs that a goroutine waits on.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::arch::tsan;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::{getm, hold_p, with_room};
use crate::runtime::data::cell::Cell;
use crate::runtime::data::ext::Level;
use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::{G, M, Mutex, P, Slice, Sudog, sched};
use crate::runtime::lock::rank::{LockRank, lock_with_rank_may_acquire};
use crate::runtime::mem::arena::Arena;
use crate::runtime::mem::cache::{Cache, List};

/// The arena from which sudogs are cut.
static ARENA: Arena = Arena::new(size_of::<Sudog>(), c"gosched: sudogs");

type Cached = Option<&'static Sudog>;

impl List for &Slice<Cached> {
    type Item = &'static Sudog;

    #[inline(always)]
    fn push(self, s: &'static Sudog) {
        tsan::release(s);
        // SAFETY: there is room, of cells: `release_sudog` makes room first, and filling an empty
        // cache stops at half. And no other M touches this P's cache.
        unsafe { (*self.ptr.get().add(self.len.get()).cast::<Cell<Cached>>()).set(Some(s)) };
        self.len.set(self.len.get() + 1);
    }

    #[inline(always)]
    fn pop(self) -> Cached {
        let last = self.len.get().checked_sub(1)?;
        self.len.set(last);
        // SAFETY: all elements below the length, which are cells, were written by `push`.
        unsafe { (*self.ptr.get().add(last).cast::<Cell<Cached>>()).get() }.inspect(|s| tsan::acquire(*s))
    }
}

impl List for &Link<Sudog> {
    type Item = &'static Sudog;

    fn push(self, s: &'static Sudog) {
        tsan::release(s);
        s.next.set(self.get());
        self.set(Some(s));
    }

    fn pop(self) -> Cached {
        let s = self.get()?;
        tsan::acquire(s);
        self.set(s.next.get());
        s.next.set(None);
        Some(s)
    }
}

/// Sudogs: the central cache is Go's name for the list that all P's share.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Sudogs;

impl Cache for Sudogs {
    type List = &'static Link<Sudog>;

    fn shared(self) -> (&'static Mutex, Self::List, &'static Level) {
        (&sched().sudoglock, &sched().sudogcache, &sched().ext.sudog_level)
    }
}

/// Empties the cache of a new or destroyed P, and points it at its buffer.
pub(in crate::runtime) fn reset_sudogcache(pp: &P) {
    pp.sudogcache.ptr.set(pp.sudogbuf.as_ptr().cast::<Cached>().cast_mut());
    pp.sudogcache.len.set(0);
    pp.sudogcache.cap.set(pp.sudogbuf.len());
}

/// Takes a sudog from the cache of this M's P, or, if the M has no P, from the central cache. Makes
/// sudogs if there are none. Called with the P kept. Go's `acquireSudog`.
#[inline]
pub(in crate::runtime) fn acquire_sudog(mp: &'static M) -> &'static Sudog {
    lock_with_rank_may_acquire(&sched().sudoglock, LockRank::SUDOG);
    let s = match mp.p() {
        Some(pp) => pp.sudogcache.pop().unwrap_or_else(|| refill(pp)),
        None => take_sudog(),
    };
    if !s.elem.load(Ordering::Relaxed).is_null() {
        throw("acquireSudog: found s.elem != nil in cache");
    }
    s
}

/// Fills half of a P's empty cache, and takes one.
#[cold]
#[inline(never)]
fn refill(pp: &P) -> &'static Sudog {
    let cache = &pp.sudogcache;
    // The arena allocates.
    with_room(|| Sudogs.refill(cache, half(pp)).unwrap_or_else(|| cut_sudogs(half(pp), |s| cache.push(s))))
}

/// Returns a sudog for an M without a P.
#[cold]
#[inline(never)]
fn take_sudog() -> &'static Sudog {
    with_room(|| Sudogs.take().unwrap_or_else(|| cut_sudogs(1, |_| ())))
}

/// Returns half the capacity of a P's cache.
fn half(pp: &P) -> usize {
    pp.sudogcache.cap.get() / 2
}

/// Cuts up to `n` new sudogs; returns one, and passes the rest to `others`.
#[cold]
#[inline(never)]
fn cut_sudogs(n: usize, others: impl Fn(&'static Sudog)) -> &'static Sudog {
    let pieces =
        ARENA.cut(n, 0).unwrap_or_else(|error| throw(&format!("out of memory for a sudog ({error})")));
    // SAFETY: nobody else has this piece, and it will never be unmapped. It is all zero, which is a
    // new sudog, or a released sudog.
    let sudog = |i| unsafe { &*pieces.start(i).cast::<Sudog>() };
    (1..pieces.count).map(sudog).for_each(others);
    sudog(0)
}

/// Gives a sudog back to the cache of this M's P, or to the central cache. Called with the P kept.
/// Go's `releaseSudog`.
#[inline]
pub(in crate::runtime) fn release_sudog(mp: &'static M, s: &'static Sudog) {
    check_unused(s);
    lock_with_rank_may_acquire(&sched().sudoglock, LockRank::SUDOG);
    let Some(pp) = mp.p() else {
        return Sudogs.give(1, |list| list.push(s));
    };
    if pp.sudogcache.len.get() == pp.sudogcache.cap.get() {
        Sudogs.spill(&pp.sudogcache, half(pp));
    }
    pp.sudogcache.push(s);
}

/// [`release_sudog`] for a goroutine that has waited, and may have changed its M.
#[inline(always)]
pub(in crate::runtime) fn release_sudog_here(s: &'static Sudog) {
    let mp = getm();
    let _held = hold_p(mp);
    release_sudog(mp, s);
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

/// Hands back a batch of sudogs that nobody has needed; false if there is none.
pub(in crate::runtime) fn hand_back() -> bool {
    Sudogs.hand_back(&ARENA, |s| ptr::from_ref(s).addr())
}

/// Returns the sudogs that `gp` waits on, in lock order.
pub(in crate::runtime) fn waiting(gp: &G) -> impl Iterator<Item = &'static Sudog> {
    std::iter::successors(gp.waiting.get(), |sg| sg.waitlink.get())
}
