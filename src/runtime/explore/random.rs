//! Random numbers that are the same everywhere, and in each run: SplitMix64.

#[cfg(feature = "std")]
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(feature = "std")]
use crate::runtime::explore::clock::is_ours;

/// A generator. Its numbers depend on its seed alone.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    /// Returns the generator of one of many runs.
    pub(crate) fn of_run(seed: u64, run: u64) -> Self {
        let mut rng = Rng(seed);
        let first = rng.next();
        Rng(first ^ run.wrapping_mul(0xd6e8_feb8_6659_fd93))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`.
    #[inline]
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

/// The number of words that the run's goroutines have taken.
#[cfg(feature = "std")]
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// Begins anew, for a run.
#[cfg(feature = "std")]
pub(in crate::runtime) fn restart() {
    TAKEN.store(0, Ordering::Relaxed);
}

/// Fills the bytes, if the caller belongs to a run. The same choices get the same numbers.
#[cfg(feature = "std")]
pub(in crate::runtime) fn fill_from_run(bytes: &mut [u8]) {
    if !is_ours() {
        return;
    }
    for part in bytes.chunks_mut(size_of::<u64>()) {
        let word = Rng::of_run(0, TAKEN.fetch_add(1, Ordering::Relaxed)).next();
        part.copy_from_slice(&word.to_le_bytes()[..part.len()]);
    }
}
