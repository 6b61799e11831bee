//! What is printed, and what can be asked.

mod deadlock;
mod debuggers;
mod dumps;
mod fatal;
mod metrics;
mod names;
mod quit;
mod schedtrace;
mod traceback;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[
    deadlock::TESTS,
    debuggers::TESTS,
    dumps::TESTS,
    fatal::TESTS,
    metrics::TESTS,
    names::TESTS,
    quit::TESTS,
    schedtrace::TESTS,
    traceback::TESTS,
];
