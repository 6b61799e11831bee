//! Typed channels and selects.

mod channels;
mod drops;
mod futures;
mod impatient;
mod select;
mod select_forms;
mod select_panics;
mod select_set;
mod timeouts;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[
    channels::TESTS,
    drops::TESTS,
    futures::TESTS,
    impatient::TESTS,
    select::TESTS,
    select_forms::TESTS,
    select_panics::TESTS,
    select_set::TESTS,
    timeouts::TESTS,
];
