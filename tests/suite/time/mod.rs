//! Sleeping, timers and tickers.

mod due;
mod sleep;
mod timeouts;
mod timers;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[due::TESTS, sleep::TESTS, timeouts::TESTS, timers::TESTS];
