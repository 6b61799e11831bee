//! Sockets, and whatever else can be polled.

mod faults;
mod limits;
mod pollable;
mod sockets;
mod storm;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[faults::TESTS, limits::TESTS, pollable::TESTS, sockets::TESTS, storm::TESTS];
