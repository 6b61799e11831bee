//! Pools of things that keep their type: channels and timers. Unused things are
//! [kept](crate::runtime::mem::cache), and never given back to the allocator.
//!
//! A late user that still has the address of a thing finds, at worst, another thing of its kind
//! there, with a lock that works as before. Getting a thing costs two list operations. If zeroed
//! memory, a thing that was never used, does as well as a used thing, things that nobody has needed
//! for a while go [back](crate::runtime::monitor::scavenge) to the arena from which they were cut.

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use crate::runtime::arch::tsan;
use crate::runtime::base::this::{acquirem, releasem};
use crate::runtime::data::cell::Cell;
use crate::runtime::data::ext::{FreeList, Level, Pool};
use crate::runtime::data::runtime2::{Mutex, P};
use crate::runtime::mem::arena::Arena;
use crate::runtime::mem::cache::{Cache, List};

/// A thing that can be on a [`FreeList`].
pub trait Linked: Sized + 'static {
    /// Returns the link to the next unused thing, while `this` is unused.
    ///
    /// # Safety
    /// `this` is such a thing or zeroed memory, and is never unmapped.
    unsafe fn next<'a>(this: NonNull<Self>) -> &'a Cell<*mut c_void>;
}

/// A thing that can be in a pool. Zeroed memory is a thing that was never used.
pub trait Pooled: Linked {
    /// Returns the unused things of a P.
    fn cache(pp: &P) -> &FreeList<Self>;

    /// Returns the unused things that no P has.
    fn pool() -> &'static Pool<Self>;

    /// Returns the arena from which the things are cut.
    fn arena() -> &'static Arena;
}

/// A P with this many things gives half of them to the pool. A P without any takes half as many
/// from there.
const LOCAL_MAX: usize = 128;

/// How many things are made at once.
const BLOCK: usize = 32;

impl<T: Linked> Cache for &'static Pool<T> {
    type List = &'static FreeList<T>;

    fn shared(self) -> (&'static Mutex, Self::List, &'static Level) {
        (&self.lock, &self.list, &self.level)
    }
}

impl<T: Linked> List for &FreeList<T> {
    type Item = NonNull<T>;

    #[inline(always)]
    fn push(self, thing: NonNull<T>) {
        tsan::release(thing.as_ptr());
        // SAFETY: a thing on a list came from a pool or an allocator, and is never freed. Its link
        // is free for this, as nobody uses the thing.
        unsafe { T::next(thing) }.set(self.first.get().cast());
        self.first.set(thing.as_ptr());
        self.len.set(self.len.get() + 1);
    }

    #[inline(always)]
    fn pop(self) -> Option<NonNull<T>> {
        let thing = NonNull::new(self.first.get())?;
        tsan::acquire(thing.as_ptr());
        // SAFETY: the thing came from a pool or an allocator, as above.
        self.first.set(unsafe { T::next(thing) }.get().cast());
        self.len.set(self.len.get() - 1);
        Some(thing)
    }
}

impl<T> FreeList<T> {
    /// Returns how many things there are.
    pub(in crate::runtime) fn len(&self) -> usize {
        self.len.get()
    }
}

/// Returns an unused thing, as its last user left it; none if there is no memory.
pub(in crate::runtime) fn alloc<T: Pooled>() -> Option<NonNull<T>> {
    let mp = acquirem();
    let thing = match mp.and_then(|mp| mp.p()).map(T::cache) {
        Some(cache) => cache
            .pop()
            .or_else(|| T::pool().refill(cache, LOCAL_MAX / 2))
            .or_else(|| cut_things(BLOCK, |thing| cache.push(thing))),
        None => T::pool().take().or_else(|| cut_things(1, |_| ())),
    };
    releasem(mp);
    thing
}

/// Takes back a thing that nobody uses any more, except for a last read of its lock.
pub(in crate::runtime) fn free<T: Pooled>(thing: NonNull<T>) {
    let mp = acquirem();
    match mp.and_then(|mp| mp.p()).map(T::cache) {
        Some(cache) => {
            if cache.len() == LOCAL_MAX {
                T::pool().spill(cache, LOCAL_MAX / 2);
            }
            cache.push(thing);
        }
        None => T::pool().give(1, |list| list.push(thing)),
    }
    releasem(mp);
}

/// Cuts up to `n` new things. Returns one, and passes the rest to `others`.
#[cold]
#[inline(never)]
fn cut_things<T: Pooled>(n: usize, others: impl Fn(NonNull<T>)) -> Option<NonNull<T>> {
    let pieces = T::arena().cut(n, 0).ok()?;
    let thing = |i| NonNull::new(pieces.start(i).cast());
    (1..pieces.count).filter_map(thing).for_each(others);
    thing(0)
}

/// Hands back a batch of things that nobody has needed, and whose contents needn't stay. Returns
/// false if there are none.
pub(in crate::runtime) fn hand_back<T: Pooled>() -> bool {
    T::pool().hand_back(T::arena(), |thing| thing.addr().get())
}

impl<T> Default for FreeList<T> {
    fn default() -> Self {
        FreeList { first: Cell::new(ptr::null_mut()), len: Cell::new(0) }
    }
}
