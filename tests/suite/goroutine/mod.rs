//! Goroutines, their parts, and what they may not do.

mod aborts;
mod callbacks;
mod callers;
mod foreign_thread;
mod foreign_wakes;
mod futures;
mod goroutines;
mod iter;
mod iter_ends;
mod join_futures;
mod join_set;
mod labels;
mod local;
mod local_ends;
mod loops;
mod misuse;
pub mod scope;
mod syscalls;
mod threads;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[
    aborts::TESTS,
    callbacks::TESTS,
    callers::TESTS,
    foreign_thread::TESTS,
    foreign_wakes::TESTS,
    futures::TESTS,
    goroutines::TESTS,
    iter::TESTS,
    iter_ends::TESTS,
    join_futures::TESTS,
    join_set::TESTS,
    labels::TESTS,
    local::TESTS,
    local_ends::TESTS,
    loops::TESTS,
    misuse::TESTS,
    scope::TESTS,
    syscalls::TESTS,
    threads::TESTS,
];
