//! Contexts: what their end ends, and that each wait has one outcome.

mod io;
mod storms;
mod tree;
mod waits;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[io::TESTS, storms::TESTS, tree::TESTS, waits::TESTS];
