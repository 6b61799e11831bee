//! Caches of unused items: a list for each P, and a list that all P's share.
//!
//! Dead G's, sudogs, segments, channels, timers and blocks of vector registers are kept for the
//! next user. Go writes the protocol out for each of its kinds (`gfget` and `gfput`, `acquireSudog`
//! and `releaseSudog`, `stackcacherefill` and `stackcacherelease`). Here it is written once:
//!
//! - As a rule an item is taken from the P's list and put back there.
//! - An empty list is filled to half of its capacity from the shared list ([`Cache::refill`]). A
//!   full list gives half of its items to the shared list ([`Cache::spill`]). So the lock is taken
//!   once for many items.
//! - Without a P, only the shared list is used ([`Cache::take`], [`Cache::give`]).
//! - A P that is destroyed, or was idle for a while, gives all its items away.
//!
//! The lists are where Go has them, in `P` and in `schedt`, each with links of its own. If both
//! lists are empty, the caller makes a new item, not the cache.

use std::iter::from_fn;

use crate::runtime::data::ext::{BATCH, Level};
use crate::runtime::data::runtime2::Mutex;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::mem::arena::Arena;

/// A list of unused items. The last item put there is taken first: it may still be in the
/// processor's caches.
pub(in crate::runtime) trait List: Copy {
    type Item;

    fn push(self, item: Self::Item);

    fn pop(self) -> Option<Self::Item>;
}

type Item<C> = <<C as Cache>::List as List>::Item;

/// A cache, represented by a word at most, so that the frequent path passes no more than that to
/// the rare path.
pub(in crate::runtime) trait Cache: Copy {
    /// The list that all P's share.
    type List: List;

    /// Returns the shared list, with the lock that protects it, and its level.
    fn shared(self) -> (&'static Mutex, Self::List, &'static Level);

    /// Moves up to `n` items to a P's empty list, and takes one of them.
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

    /// Moves up to `n` items, the last ones put there, from a P's list to the shared list.
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

    /// Takes an item without a P.
    #[cold]
    #[inline(never)]
    fn take(self) -> Option<Item<Self>> {
        self.with_lock(|list, level| list.pop().inspect(|_| level.get(1)))
    }

    /// Lets `push` put `n` items on the shared list.
    fn give(self, n: usize, push: impl FnOnce(Self::List)) {
        self.with_lock(|list, level| {
            level.put(n);
            push(list);
        });
    }

    /// Takes up to `n` items that nobody has needed. Returns the result of `note` for each.
    fn surplus<T>(self, n: usize, note: impl FnMut(Item<Self>) -> T) -> Vec<T> {
        // Allocates before the lock is taken: an allocator may wait for the kernel.
        let mut batch = Vec::with_capacity(n);
        self.with_lock(|list, level| batch.extend(from_fn(|| list.pop()).take(level.take(n)).map(note)));
        batch
    }

    /// Hands a batch of items that nobody has needed back to the arena from which they were cut.
    /// Returns false if there are none.
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

/// Ends an interval of each of these caches. Returns whether there is anything on a shared list.
pub(in crate::runtime) fn age<C: Cache>(caches: impl IntoIterator<Item = C>) -> bool {
    caches.into_iter().fold(false, |any, cache| {
        cache.with_lock(|_, level| {
            level.age();
            any || level.len() != 0
        })
    })
}
