//! [`Level`]: the length of a free list, and how much of it nobody has needed.
//! `monitor/scavenge.rs` uses it.

use crate::runtime::data::cell::Cell;

/// How many items are taken from a list at once to be handed back.
pub(in crate::runtime) const BATCH: usize = 64;

/// The length of a free list, and how much of it nobody has needed. Protected by the list's lock.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Level {
    len: Cell<usize>,
    /// The least value of `len` in this interval.
    low: Cell<usize>,
    /// How many of the last interval's `low` have yet to go back.
    surplus: Cell<usize>,
}

impl Level {
    /// Returns the level of an empty list.
    pub(in crate::runtime) const fn new() -> Self {
        Level { len: Cell::new(0), low: Cell::new(0), surplus: Cell::new(0) }
    }

    /// Returns how many items are on the list.
    pub(in crate::runtime) fn len(&self) -> usize {
        self.len.get()
    }

    /// Notes that `n` items were put on the list.
    #[inline]
    pub(in crate::runtime) fn put(&self, n: usize) {
        self.len.set(self.len.get() + n);
    }

    /// Notes that `n` items were taken from the list, to be used. The list may also hold items that
    /// can't be handed back and don't count.
    #[inline]
    pub(in crate::runtime) fn get(&self, n: usize) {
        self.len.set(self.len.get().saturating_sub(n));
        self.low.set(self.low.get().min(self.len.get()));
    }

    /// Takes at most `max` items off the count, to be handed back. Returns how many.
    pub(in crate::runtime) fn take(&self, max: usize) -> usize {
        let n = max.min(self.surplus.get()).min(self.low.get());
        for count in [&self.len, &self.low, &self.surplus] {
            count.set(count.get() - n);
        }
        n
    }

    /// Ends an interval.
    pub(in crate::runtime) fn age(&self) {
        self.surplus.set(self.low.replace(self.len.get()));
    }
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
