//! Sockets, and other descriptors that can be polled.

mod faults;
mod later;
mod limits;
mod pollable;
pub mod ready_queue;
mod storm;
mod tcp;
mod udp_and_unix;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[
    faults::TESTS,
    later::TESTS,
    limits::TESTS,
    pollable::TESTS,
    ready_queue::TESTS,
    storm::TESTS,
    tcp::TESTS,
    udp_and_unix::TESTS,
];
