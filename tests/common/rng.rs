//! Random numbers: splitmix64, and the seed that `STRESS_SEED` names.

use std::env;
use std::time::SystemTime;

/// The number that an environment variable has.
pub fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} is no number")))
}

/// The seed; without `STRESS_SEED`, another one each time.
pub fn seed() -> u64 {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    number("STRESS_SEED").unwrap_or_else(|| since_1970.map_or(0, |time| time.as_nanos() as u64))
}

pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Rng(seed)
    }

    pub fn next(&mut self) -> u64 {
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
}
