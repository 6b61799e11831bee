//! What is printed, and what can be asked.

mod deadlock;
mod debuggers;
mod dumps;
mod fatal;
mod metrics;
mod names;
mod panics;
mod quit;
mod schedtrace;
mod traceback;
mod valgrind;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[
    deadlock::TESTS,
    debuggers::TESTS,
    dumps::TESTS,
    fatal::TESTS,
    metrics::TESTS,
    names::TESTS,
    panics::TESTS,
    quit::TESTS,
    schedtrace::TESTS,
    traceback::TESTS,
    valgrind::TESTS,
];
