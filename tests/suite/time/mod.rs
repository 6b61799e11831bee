//! Sleeping, timers and tickers.

mod due;
mod sleep;
mod timers;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[due::TESTS, sleep::TESTS, timers::TESTS];
