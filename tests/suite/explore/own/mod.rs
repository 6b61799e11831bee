//! The crate's own tests in many schedules: what they say of one order holds in each.
//! `EXPLORE_SCHEDULES` says how many.
//!
//! Other tests have threads, real time, statistics, one goroutine alone, or one that ends by a
//! panic, which no schedule lets pass; or they look for something again and again, without a yield.

/// Lists tests of other modules, which say that they run [`in_any_order`].
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

mod channels;
mod locks;
mod scopes;
mod selects;
mod stress;
mod timeouts;

use crate::harness::Test;

pub const TESTS: &[&[Test]] =
    &[channels::TESTS, locks::TESTS, scopes::TESTS, selects::TESTS, stress::TESTS, timeouts::TESTS];
