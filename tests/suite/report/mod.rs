//! What is printed, and what can be asked.

mod debuggers;
mod fatal;
mod metrics;
mod schedtrace;
mod traceback;

use crate::harness::Test;

pub const TESTS: &[&[Test]] =
    &[debuggers::TESTS, fatal::TESTS, metrics::TESTS, schedtrace::TESTS, traceback::TESTS];
