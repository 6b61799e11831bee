//! Caches of what nobody uses: a list for each P, and one that all of them share.
//!
//! Dead G's, sudogs, segments, channels, timers and blocks of vector registers are kept for the
//! next who needs one. Go writes the protocol out for each of its own (`gfget` and `gfput`,
//! `acquireSudog` and `releaseSudog`, `stackcacherefill` and `stackcacherelease`); here it is once:
//!
//! - As a rule one is taken from the P's list and put back there.
//! - When that is empty, half of what it may have comes from the shared list ([`Cache::refill`]),
//!   and when it is full, half of it goes there ([`Cache::spill`]). So the lock is taken once for
//!   many.
//! - Without a P there is the shared list alone ([`Cache::take`], [`Cache::give`]).
//! - A P that is destroyed, or was idle for a while, gives all away.
//!
//! The lists are where Go has them, in `P` and in `schedt`, each with links of its own. Where a new
//! one comes from if both are empty is no matter of the cache.

use std::iter::from_fn;

use crate::runtime::data::level::{BATCH, Level};
use crate::runtime::data::runtime2::Mutex;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::mem::arena::Arena;

/// A list of what nobody uses. What came last is taken first: it may still be in the processor's
/// caches.
pub(in crate::runtime) trait List: Copy {
    type Item;

    fn push(self, item: Self::Item);

    fn pop(self) -> Option<Self::Item>;
}

type Item<C> = <<C as Cache>::List as List>::Item;

/// A cache, which a word at most stands for: what is done often carries no more to what is done
/// seldom.
pub(in crate::runtime) trait Cache: Copy {
    /// The list that all P's share.
    type List: List;

    /// The shared list, with the lock that protects it and its level.
    fn shared(self) -> (&'static Mutex, Self::List, &'static Level);

    /// Moves up to `n` to a P's list, which is empty, and takes one of them.
    #[cold]
    #[inline(never)]
    fn refill(self, local: impl List<Item = Item<Self>>, n: usize) -> Option<Item<Self>> {
        self.with_lock(|list, level| {
            from_fn(|| list.pop()).take(n).for_each(|item| {
                level.get(1);
                local.push(item);
            });
        });
        local.pop()
    }

    /// Moves up to `n` from a P's list, those that came last.
    #[cold]
    #[inline(never)]
    fn spill(self, local: impl List<Item = Item<Self>>, n: usize) {
        self.with_lock(|list, level| {
            from_fn(|| local.pop()).take(n).for_each(|item| {
                level.put(1);
                list.push(item);
            });
        });
    }

    /// Takes one without a P.
    #[cold]
    #[inline(never)]
    fn take(self) -> Option<Item<Self>> {
        self.with_lock(|list, level| list.pop().inspect(|_| level.get(1)))
    }

    /// Lets `push` put `n` on the shared list.
    fn give(self, n: usize, push: impl FnOnce(Self::List)) {
        self.with_lock(|list, level| {
            level.put(n);
            push(list);
        });
    }

    /// Takes up to `n` that nobody has needed, and notes of each what `note` says.
    fn surplus<T>(self, n: usize, note: impl FnMut(Item<Self>) -> T) -> Vec<T> {
        // Before the lock is taken: an allocator may wait for the kernel.
        let mut batch = Vec::with_capacity(n);
        self.with_lock(|list, level| batch.extend(from_fn(|| list.pop()).take(level.take(n)).map(note)));
        batch
    }

    /// Hands a batch of what nobody has needed back to the arena that it was cut from; false if
    /// there is none.
    fn hand_back(self, arena: &Arena, start: impl FnMut(Item<Self>) -> usize) -> bool {
        let mut starts = self.surplus(BATCH, start);
        arena.put_back(&mut starts);
        !starts.is_empty()
    }

    #[inline(always)]
    fn with_lock<R>(self, f: impl FnOnce(Self::List, &Level) -> R) -> R {
        let (mutex, list, level) = self.shared();
        lock(mutex);
        let result = f(list, level);
        unlock(mutex);
        result
    }
}

/// For each of these an interval ends; says whether there is anything on a shared list.
pub(in crate::runtime) fn age<C: Cache>(caches: impl IntoIterator<Item = C>) -> bool {
    caches.into_iter().fold(false, |any, cache| {
        cache.with_lock(|_, level| {
            level.age();
            any || level.len() != 0
        })
    })
}
