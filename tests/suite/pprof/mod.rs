//! Profiles, as a reader finds them that knows nothing of who has written them.

mod contention;
mod cpu;
mod decode;
mod goroutine;
mod unloaded;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[contention::TESTS, cpu::TESTS, goroutine::TESTS, unloaded::TESTS];
