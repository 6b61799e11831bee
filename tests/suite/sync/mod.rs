//! Locks that park a goroutine.

pub mod counted;
pub mod err_group;
pub mod futures;
pub mod guards;
pub mod lazy_lock;
pub mod limits;
pub mod locks;
pub mod notify;
pub mod once;
pub mod pool;
pub mod primitives;
pub mod rate_limiter;
pub mod single_flight;
mod sometimes;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[
    counted::TESTS,
    err_group::TESTS,
    futures::TESTS,
    guards::TESTS,
    lazy_lock::TESTS,
    limits::TESTS,
    locks::TESTS,
    notify::TESTS,
    once::TESTS,
    pool::TESTS,
    primitives::TESTS,
    rate_limiter::TESTS,
    single_flight::TESTS,
    sometimes::TESTS,
];
