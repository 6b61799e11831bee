//! The random choices that scenarios make.

use gosched::yield_now;

pub use super::random::Rng;
use super::tally::{Op, count};

impl Rng {
    /// Returns a random number from 1 to `n`.
    pub fn up_to(&mut self, n: usize) -> usize {
        1 + self.below(n)
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Yields in one of eight calls.
    pub fn pause(&mut self) {
        if self.one_in(8) {
            yield_now();
            count(Op::Yield);
        }
    }
}
