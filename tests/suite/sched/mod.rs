//! The order in which goroutines run, and how they are stopped.

mod async_preempt;
mod claims;
#[cfg(target_arch = "x86_64")]
mod claims_stepped;
mod gomaxprocs;
mod one_p;
mod preempt;
mod refused;
mod suspend;
mod switch;
mod world;
mod yield_alone;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[
    async_preempt::TESTS,
    claims::TESTS,
    #[cfg(target_arch = "x86_64")]
    claims_stepped::TESTS,
    gomaxprocs::TESTS,
    one_p::TESTS,
    preempt::TESTS,
    refused::TESTS,
    suspend::TESTS,
    switch::TESTS,
    world::TESTS,
    yield_alone::TESTS,
];
