//! Locks that park a goroutine.

mod counted;
mod err_group;
mod futures;
mod limits;
mod locks;
mod primitives;
mod single_flight;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[
    counted::TESTS,
    err_group::TESTS,
    futures::TESTS,
    limits::TESTS,
    locks::TESTS,
    primitives::TESTS,
    single_flight::TESTS,
];
