//! Contexts: what ends with them, and that each wait has one end.

mod io;
mod storms;
mod tree;
mod waits;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[io::TESTS, storms::TESTS, tree::TESTS, waits::TESTS];
