//! The crate's own tests in many schedules: their assertions about one order hold in each.
//! `EXPLORE_SCHEDULES` sets the number of schedules.
//!
//! Tests are left out if they use threads, real time, statistics or one goroutine alone, or a
//! goroutine that ends by a panic, which no schedule lets pass; or if they poll for something
//! without a yield.

/// Lists tests of other modules, which name [`in_any_order`] as their runner.
macro_rules! explored {
    ($($test:ident)*) => {
        /// The same tests in many schedules.
        pub const TESTS: &[$crate::harness::Test] = &[$($crate::harness::Test {
            path: concat!(module_path!(), "::", stringify!($test)),
            slow: false,
            f: |test| $crate::harness::explored::explore(test, $test),
        }),*];
    };
}

mod broadcast;
mod channels;
mod locks;
mod oneshot;
mod ready_queues;
mod runs;
mod scopes;
mod selects;
mod stress;
mod timeouts;
mod unbounded;
mod watch;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[
    broadcast::TESTS,
    channels::TESTS,
    locks::TESTS,
    oneshot::TESTS,
    ready_queues::TESTS,
    runs::TESTS,
    scopes::TESTS,
    selects::TESTS,
    stress::TESTS,
    timeouts::TESTS,
    unbounded::TESTS,
    watch::TESTS,
];
