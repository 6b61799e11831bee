//! What tests ask of random numbers.

#[path = "../../common/rng.rs"]
pub mod random;

pub use random::{Rng, number};

impl Rng {
    /// A generator whose seed is printed if the test fails.
    pub fn seeded() -> Self {
        let seed = random::seed();
        eprintln!("STRESS_SEED={seed}");
        Rng::new(seed)
    }
}
