//! Sleeping, timers and tickers.

mod sleep;
mod timers;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[sleep::TESTS, timers::TESTS];
