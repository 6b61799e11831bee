//! Goroutines, what they are made of and what they may not do.

mod foreign_thread;
mod goroutines;
mod iter;
mod labels;
mod misuse;
mod scope;
mod syscalls;
mod threads;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[
    foreign_thread::TESTS,
    goroutines::TESTS,
    iter::TESTS,
    labels::TESTS,
    misuse::TESTS,
    scope::TESTS,
    syscalls::TESTS,
    threads::TESTS,
];
