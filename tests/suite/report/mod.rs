//! Reports, and queries of the runtime's state.

mod deadlock;
pub mod debuggers;
mod detached;
mod dumps;
mod fatal;
mod groups;
mod hogs;
mod metrics;
mod names;
mod panics;
mod prometheus;
mod quit;
mod schedtrace;
mod traceback;
pub mod unloaded;
mod valgrind;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[
    deadlock::TESTS,
    debuggers::TESTS,
    detached::TESTS,
    dumps::TESTS,
    fatal::TESTS,
    groups::TESTS,
    hogs::TESTS,
    metrics::TESTS,
    names::TESTS,
    panics::TESTS,
    prometheus::TESTS,
    quit::TESTS,
    schedtrace::TESTS,
    traceback::TESTS,
    unloaded::TESTS,
    valgrind::TESTS,
];
