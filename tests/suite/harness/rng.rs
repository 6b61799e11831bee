//! Random numbers for tests.

#[path = "../../common/rng.rs"]
pub mod random;

use gosched::explore::choose;

pub use random::{Rng, number};

use super::explored::explores;

impl Rng {
    /// Returns a generator whose seed is printed if the test fails. In an exploration, each
    /// schedule chooses the numbers.
    pub fn seeded() -> Self {
        if explores() {
            return Rng::new(choose(1 << 16) as u64);
        }
        let seed = random::seed();
        eprintln!("STRESS_SEED={seed}");
        Rng::new(seed)
    }
}
