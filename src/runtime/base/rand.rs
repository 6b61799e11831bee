//! Random numbers for the scheduler's own choices: Go's `cheaprand`.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::runtime::base::this::this_m;
use crate::runtime::data::runtime2::M;

/// The step of the generator, wyrand.
const STEP: u64 = 0xa076_1d64_78bd_642f;

/// Seeds the M's generator. Go's `mrandinit`.
pub(in crate::runtime) fn mrandinit(mp: &M) {
    // A hasher's keys are std's only source of randomness; the address makes M's differ.
    mp.cheaprand.set(RandomState::new().hash_one(std::ptr::from_ref(mp).addr()));
}

/// Returns a random number that is just good enough for the scheduler's choices: wyrand takes one
/// multiplication. Go's `cheaprand`.
#[inline(always)]
pub(in crate::runtime) fn cheaprand() -> u32 {
    static FOREIGN: AtomicU64 = AtomicU64::new(0);
    let state = match this_m() {
        Some(mp) => {
            let state = mp.cheaprand.get().wrapping_add(STEP);
            mp.cheaprand.set(state);
            state
        }
        None => FOREIGN.fetch_add(STEP, Ordering::Relaxed),
    };
    let product = u128::from(state) * u128::from(state ^ 0xe703_7ed1_a0b4_28db);
    ((product >> 64) ^ product) as u32
}

/// Returns a random number below `n`. Go's `cheaprandn`.
#[inline(always)]
pub(in crate::runtime) fn cheaprandn(n: u32) -> u32 {
    ((u64::from(cheaprand()) * u64::from(n)) >> 32) as u32
}
