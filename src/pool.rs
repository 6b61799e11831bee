//! Things that are never given back to the allocator: a cache of unused ones for each P, and one
//! for all.
//!
//! Such a thing stays what it is. Who comes too late, and still has its address, finds another one
//! of its kind there at worst, with a lock that works as before. And to get one costs two list
//! operations. Where zero, a thing that has never been used, would do as well, what nobody has needed
//! for a while goes [back](crate::proc::scavenge) to the arena that it was cut from.

use std::cell::Cell;
use std::ffi::c_void;
use std::iter::from_fn;
use std::ptr::{self, NonNull};

use crate::lock::{lock, unlock};
use crate::proc::m::{acquirem, releasem};
use crate::proc::scavenge::{BATCH, Level};
use crate::runtime2::{Mutex, P};
use crate::stack::arena::Arena;

/// What can be in a pool. All zero is one that has never been used.
pub trait Pooled: Sized + 'static {
    /// Where the next unused one stands, while this is one.
    ///
    /// # Safety
    /// `this` came from the pool.
    unsafe fn next<'a>(this: NonNull<Self>) -> &'a Cell<*mut c_void>;

    /// The unused ones of a P.
    fn cache(pp: &P) -> &FreeList<Self>;

    /// Those that no P has.
    fn pool() -> &'static Pool<Self>;

    /// What they are cut from.
    fn arena() -> &'static Arena;
}

/// A P with so many gives half of them to the others; one with none takes half as many.
const LOCAL_MAX: usize = 128;

/// How many are made at once.
const BLOCK: usize = 32;

/// Unused things, linked.
#[repr(C)]
pub struct FreeList<T> {
    first: Cell<*mut T>,
    len: Cell<usize>,
}

/// The unused things that no P has.
#[repr(C)]
pub struct Pool<T> {
    lock: Mutex,
    list: FreeList<T>,
    level: Level,
}

impl<T: Pooled> FreeList<T> {
    fn push(&self, thing: NonNull<T>) {
        // SAFETY: an unused thing's link is this list's.
        unsafe { T::next(thing) }.set(self.first.get().cast());
        self.first.set(thing.as_ptr());
        self.len.set(self.len.get() + 1);
    }

    fn pop(&self) -> Option<NonNull<T>> {
        let thing = NonNull::new(self.first.get())?;
        // SAFETY: as in push.
        self.first.set(unsafe { T::next(thing) }.get().cast());
        self.len.set(self.len.get() - 1);
        Some(thing)
    }

    /// Moves things to `to` until `keep` are left.
    fn give(&self, to: &FreeList<T>, keep: usize) {
        while self.len.get() > keep
            && let Some(thing) = self.pop()
        {
            to.push(thing);
        }
    }
}

/// An unused thing, as its last user left it; none if there is no memory.
pub(crate) fn alloc<T: Pooled>() -> Option<NonNull<T>> {
    let mp = acquirem();
    let thing = match mp.and_then(|mp| mp.p.get()) {
        Some(pp) => T::cache(pp).pop().or_else(|| refill(pp)),
        None => take_shared().or_else(|| block(|_| {})),
    };
    releasem(mp);
    thing
}

/// Takes a thing back that nobody uses any more, but for a last read of its lock.
pub(crate) fn free<T: Pooled>(thing: NonNull<T>) {
    let mp = acquirem();
    match mp.and_then(|mp| mp.p.get()) {
        Some(pp) => {
            let cache = T::cache(pp);
            cache.push(thing);
            if cache.len.get() > LOCAL_MAX {
                spill::<T>(pp, LOCAL_MAX / 2);
            }
        }
        None => {
            let shared = T::pool();
            lock(&shared.lock);
            shared.list.push(thing);
            shared.level.put(1);
            unlock(&shared.lock);
        }
    }
    releasem(mp);
}

/// Gives the P's things to the others, but `keep`.
#[cold]
pub(crate) fn spill<T: Pooled>(pp: &P, keep: usize) {
    let (cache, shared) = (T::cache(pp), T::pool());
    lock(&shared.lock);
    shared.level.put(cache.len.get().saturating_sub(keep));
    cache.give(&shared.list, keep);
    unlock(&shared.lock);
}

fn take_shared<T: Pooled>() -> Option<NonNull<T>> {
    let shared = T::pool();
    lock(&shared.lock);
    let thing = shared.list.pop();
    shared.level.get(1);
    unlock(&shared.lock);
    thing
}

/// Takes things that no P has, or makes some.
#[cold]
#[inline(never)]
fn refill<T: Pooled>(pp: &P) -> Option<NonNull<T>> {
    let (cache, shared) = (T::cache(pp), T::pool());
    lock(&shared.lock);
    let keep = shared.list.len.get().saturating_sub(LOCAL_MAX / 2);
    shared.level.get(shared.list.len.get() - keep);
    shared.list.give(cache, keep);
    unlock(&shared.lock);
    cache.pop().or_else(|| block(|thing| cache.push(thing)))
}

/// Makes some; passes all but one to `others`.
fn block<T: Pooled>(others: impl Fn(NonNull<T>)) -> Option<NonNull<T>> {
    let cut = T::arena().cut(BLOCK).ok()?;
    let thing = |i| NonNull::new(cut.start(i).cast());
    (1..cut.count).filter_map(thing).for_each(others);
    thing(0)
}

/// Hands a batch of things back that nobody has needed, and of which nothing is to stay; false if there
/// is none.
pub(crate) fn hand_back<T: Pooled>() -> bool {
    let shared = T::pool();
    let mut starts = Vec::with_capacity(BATCH);
    lock(&shared.lock);
    let unused = from_fn(|| shared.list.pop()).take(shared.level.take(BATCH));
    starts.extend(unused.map(|thing| thing.addr().get()));
    unlock(&shared.lock);
    T::arena().put_back(&mut starts);
    !starts.is_empty()
}

/// For those that no P has an interval ends; says whether there are any.
pub(crate) fn age<T: Pooled>() -> bool {
    let shared = T::pool();
    lock(&shared.lock);
    shared.level.age();
    let len = shared.level.len();
    unlock(&shared.lock);
    len != 0
}

impl<T> Default for FreeList<T> {
    fn default() -> Self {
        FreeList { first: Cell::new(ptr::null_mut()), len: Cell::new(0) }
    }
}
