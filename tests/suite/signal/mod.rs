//! Signals: their receivers, and their effects without one.

mod delivery;
mod futures;
mod handlers;
mod storm;

use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

use gosched::chan::RecvTimeoutError;
use gosched::signal::{self, Signal, Signals};

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[delivery::TESTS, futures::TESTS, handlers::TESTS, storm::TESTS];

/// Sends a signal to this process.
pub fn kill(signal: Signal) {
    // SAFETY: no memory is passed.
    assert_eq!(unsafe { libc::kill(libc::getpid(), signal.as_raw()) }, 0);
}

/// Sends a signal to this thread, which handles it before this returns.
pub fn raise(signal: Signal) {
    // SAFETY: no memory is passed.
    assert_eq!(unsafe { libc::raise(signal.as_raw()) }, 0);
}

/// Returns the current action of a signal: the handler, the flags, and whether SIGHUP is blocked
/// meanwhile.
pub fn action(signal: Signal) -> (usize, i32, i32) {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: reads an action.
    unsafe {
        assert_eq!(libc::sigaction(signal.as_raw(), ptr::null(), action.as_mut_ptr()), 0);
        let action = action.assume_init();
        (action.sa_sigaction, action.sa_flags, libc::sigismember(&action.sa_mask, libc::SIGHUP))
    }
}

pub fn notify(signals: &[Signal]) -> Signals {
    signal::notify(signals.iter().copied()).unwrap()
}

/// Fails if a signal comes within a while.
pub fn nothing_comes(signals: &Signals) {
    let came = signals.c().recv_timeout(Duration::from_millis(20));
    assert_eq!(came, Err(RecvTimeoutError::Timeout));
}
