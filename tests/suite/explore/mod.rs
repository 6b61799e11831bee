//! `gosched::explore` and `gosched::synctest`: what is found, how it is told, and what is refused.

mod failures;
mod misuse;
mod strategies;
mod time;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[failures::TESTS, misuse::TESTS, strategies::TESTS, time::TESTS];
