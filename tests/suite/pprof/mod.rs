//! Profiles, checked by a reader that knows nothing of their writer.

mod contention;
mod cpu;
mod decode;
mod goroutine;
mod unloaded;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[contention::TESTS, cpu::TESTS, goroutine::TESTS, unloaded::TESTS];
