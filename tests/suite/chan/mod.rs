//! Typed channels and selects.

pub mod broadcast;
pub mod channels;
mod drops;
pub mod futures;
pub mod impatient;
pub mod oneshot;
pub mod ready;
pub mod select;
pub mod select_forms;
mod select_panics;
pub mod select_set;
pub mod timeouts;
pub mod unbounded;
pub mod watch;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[
    broadcast::TESTS,
    channels::TESTS,
    drops::TESTS,
    futures::TESTS,
    impatient::TESTS,
    oneshot::TESTS,
    ready::TESTS,
    select::TESTS,
    select_forms::TESTS,
    select_panics::TESTS,
    select_set::TESTS,
    timeouts::TESTS,
    unbounded::TESTS,
    watch::TESTS,
];
