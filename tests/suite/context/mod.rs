//! Contexts: what their end ends, and that each wait has one outcome.

mod io;
pub mod run_storms;
mod runs;
mod storms;
mod tree;
mod waits;

use crate::harness::Test;

pub const TESTS: &[&[Test]] =
    &[io::TESTS, run_storms::TESTS, runs::TESTS, storms::TESTS, tree::TESTS, waits::TESTS];
