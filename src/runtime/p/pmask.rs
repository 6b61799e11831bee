//! A set with one bit per P: Go's `pMask`. Sequentially consistent: an M that gives up spinning
//! reads the sets after it has stopped, see `sched/wake.rs`.

use crate::runtime::data::atomic::{AtomicU32, Ordering};

/// A set of P's, by their numbers.
pub(in crate::runtime) struct PMask(Box<[AtomicU32]>);

fn bit(id: i32) -> (usize, u32) {
    (id as usize / 32, 1 << (id % 32))
}

impl PMask {
    /// The empty set, with room for `nprocs` P's.
    pub(in crate::runtime) fn new(nprocs: i32) -> Self {
        PMask((0..(nprocs + 31) / 32).map(|_| AtomicU32::new(0)).collect())
    }

    /// Whether P `id` is in the set.
    pub(in crate::runtime) fn read(&self, id: i32) -> bool {
        let (word, mask) = bit(id);
        self.0[word].load(Ordering::SeqCst) & mask != 0
    }

    /// Adds P `id`.
    pub(in crate::runtime) fn set(&self, id: i32) {
        let (word, mask) = bit(id);
        self.0[word].fetch_or(mask, Ordering::SeqCst);
    }

    /// Takes P `id` out.
    pub(in crate::runtime) fn clear(&self, id: i32) {
        let (word, mask) = bit(id);
        self.0[word].fetch_and(!mask, Ordering::SeqCst);
    }
}
