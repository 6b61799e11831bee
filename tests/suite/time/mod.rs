//! Sleeping, timers and tickers.

mod timers;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[timers::TESTS];
