//! Things that keep their type, channels and timers: unused ones are
//! [kept](crate::runtime::mem::cache), and never given back to the allocator.
//!
//! A late user that still has the address of one finds another of its kind there at worst, with a
//! lock that works as before. And to get one costs two list operations. If zero, a thing that has
//! never been used, would do as well as a used one, the things that nobody has needed for a while
//! go [back](crate::runtime::monitor::scavenge) to the arena that they were cut from.

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use crate::runtime::arch::tsan;
use crate::runtime::base::this::{acquirem, releasem};
use crate::runtime::data::cell::Cell;
use crate::runtime::data::ext::{FreeList, Pool};
use crate::runtime::data::level::Level;
use crate::runtime::data::runtime2::{Mutex, P};
use crate::runtime::mem::arena::Arena;
use crate::runtime::mem::cache::{Cache, List};

/// What can be on a [`FreeList`].
pub trait Linked: Sized + 'static {
    /// The link to the next unused one, while this one is unused.
    ///
    /// # Safety
    /// `this` is one of these or zero, and is never unmapped.
    unsafe fn next<'a>(this: NonNull<Self>) -> &'a Cell<*mut c_void>;
}

/// What can be in a pool. All zero is one that has never been used.
pub trait Pooled: Linked {
    /// The unused ones of a P.
    fn cache(pp: &P) -> &FreeList<Self>;

    /// The unused ones that no P has.
    fn pool() -> &'static Pool<Self>;

    /// What they are cut from.
    fn arena() -> &'static Arena;
}

/// A P with this many gives half of them to the others; a P with none takes half as many.
const LOCAL_MAX: usize = 128;

/// How many are made at once.
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
    /// How many there are.
    pub(in crate::runtime) fn len(&self) -> usize {
        self.len.get()
    }
}

/// An unused thing, as its last user left it; none if there is no memory.
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

/// Takes back a thing that nobody uses any more, but for a last read of its lock.
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

/// Cuts up to `n` new ones; returns one, and passes the rest to `others`.
#[cold]
#[inline(never)]
fn cut_things<T: Pooled>(n: usize, others: impl Fn(NonNull<T>)) -> Option<NonNull<T>> {
    let pieces = T::arena().cut(n, 0).ok()?;
    let thing = |i| NonNull::new(pieces.start(i).cast());
    (1..pieces.count).filter_map(thing).for_each(others);
    thing(0)
}

/// Hands back a batch of things that nobody has needed, and of which nothing is to stay; false if
/// there is none.
pub(in crate::runtime) fn hand_back<T: Pooled>() -> bool {
    T::pool().hand_back(T::arena(), |thing| thing.addr().get())
}

impl<T> Default for FreeList<T> {
    fn default() -> Self {
        FreeList { first: Cell::new(ptr::null_mut()), len: Cell::new(0) }
    }
}
