//! `gosched::explore` and `gosched::synctest`: what is found, how it is told, and what is refused.

mod failures;
mod link;
mod misuse;
mod pipe;
mod strategies;
mod time;

use crate::harness::Test;

pub const TESTS: &[&[Test]] =
    &[failures::TESTS, link::TESTS, misuse::TESTS, pipe::TESTS, strategies::TESTS, time::TESTS];
