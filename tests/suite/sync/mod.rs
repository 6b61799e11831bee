//! Locks that park a goroutine.

mod locks;
mod primitives;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[locks::TESTS, primitives::TESTS];
