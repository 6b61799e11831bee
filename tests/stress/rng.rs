//! Random numbers: splitmix64.

use gosched::yield_now;

use crate::tally::{Op, count};

pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Rng(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Another generator, for another goroutine.
    pub fn fork(&mut self) -> Rng {
        Rng(self.next())
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// From 1 to `n`.
    pub fn up_to(&mut self, n: usize) -> usize {
        1 + self.below(n)
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Yields, now and then.
    pub fn pause(&mut self) {
        if self.one_in(8) {
            yield_now();
            count(Op::Yield);
        }
    }
}
