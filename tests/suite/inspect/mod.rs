//! The page of `gosched::inspect`, as a client of HTTP sees it.

mod client;
mod goroutines;
mod json;
mod recordings;
mod refusals;
mod streams;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[goroutines::TESTS, recordings::TESTS, refusals::TESTS, streams::TESTS];
