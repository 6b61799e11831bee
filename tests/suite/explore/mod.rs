//! `gosched::explore` and `gosched::synctest`: what they find, report and refuse; and the crate's
//! own tests in many schedules.

mod bugs;
mod failures;
mod found;
mod link;
mod misuse;
pub mod own;
mod pipe;
mod strategies;
mod time;

use crate::harness::Test;

pub const TESTS: &[&[Test]] =
    &[failures::TESTS, found::TESTS, link::TESTS, misuse::TESTS, pipe::TESTS, strategies::TESTS, time::TESTS];
