//! Locks that park a goroutine.

mod counted;
mod limits;
mod locks;
mod primitives;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[counted::TESTS, limits::TESTS, locks::TESTS, primitives::TESTS];
