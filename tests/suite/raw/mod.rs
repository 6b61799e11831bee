//! The layers that a language's runtime links, and C.

mod capi;
mod capi_callers;
mod capi_waiting;
mod channels;
mod coro;
mod goroutines;
mod hooks;
mod netpoll;
mod stack_use;
mod timers;
mod trace;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[
    capi::TESTS,
    capi_callers::TESTS,
    capi_waiting::TESTS,
    channels::TESTS,
    coro::TESTS,
    goroutines::TESTS,
    hooks::TESTS,
    netpoll::TESTS,
    stack_use::TESTS,
    timers::TESTS,
    trace::TESTS,
];
