//! Models of the poller. A waiter continues when its descriptor becomes ready, is closed, or
//! reaches its deadline, and no readiness is lost. A late event of a descriptor's earlier use does
//! nothing to a later use. The files that ship are `netpoll/poll_desc.rs` and `ready.rs`,
//! `pollwait.rs`, and `net/registration.rs`. (loom fails if all threads are blocked, and a thread
//! that waits in vain is blocked.)
//!
//! Everything else is stand-ins, with the paths and names that these files use. A goroutine is a
//! thread, the kernel is a flag, and a timer fires when a model says so.

#![cfg(loom)]
#![allow(dead_code, reason = "the shipped files have more than is modelled")]

mod net;
mod runtime;
mod sync;

use std::sync::Arc;

use loom::thread;

use runtime::data::atomic::{AtomicU32, Ordering};
use runtime::data::timer::{Timer, TimerFn};
use runtime::netpoll::epoll::{becomes_ready, told};
use runtime::netpoll::netpoll_waiters;
use runtime::*;

/// A time that doesn't come by itself.
const LATER: i64 = 1000;

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(builder.preemption_bound.map_or(3, |said| said.min(3)));
    builder.check(move || {
        model();
        assert_eq!(netpoll_waiters(), 0);
    });
}

fn open() -> &'static PollDesc {
    // SAFETY: the kernel here takes any number.
    unsafe { poll_runtime_poll_open(3) }.unwrap()
}

fn wait(pd: &'static PollDesc, mode: Mode) -> Result<(), PollError> {
    // SAFETY: on a thread, which can park here.
    unsafe { poll_runtime_poll_wait(pd, mode) }
}

fn close(pd: &'static PollDesc) {
    // SAFETY: the descriptor is registered.
    unsafe { poll_runtime_poll_unblock(pd) };
}

/// Closes the descriptor, and opens one that looks the same to the poller.
fn reopen(pd: &'static PollDesc) {
    close(pd);
    // SAFETY: nobody waits.
    unsafe { poll_runtime_poll_close(pd) };
    assert!(std::ptr::eq(open(), pd));
}

fn set_deadline(pd: &'static PollDesc, d: i64, read: bool, write: bool) {
    // SAFETY: the descriptor is registered.
    unsafe { poll_runtime_poll_set_deadline(pd, d, read, write) };
}

/// Takes the function for which the timer was set. The timer fires when the result is called.
fn fires(t: &'static Timer) -> impl FnOnce() + Send {
    struct Fires(TimerFn, *mut std::ffi::c_void, usize);
    // SAFETY: a timer fires on any thread.
    unsafe impl Send for Fires {}
    let (arg, seq) = t.set.take().unwrap();
    let fires = Fires(t.f.get().unwrap(), arg, seq);
    move || {
        let Fires(f, arg, seq) = { fires };
        // SAFETY: the arguments are those for which the timer was set.
        unsafe { f(arg, seq) }
    }
}

/// The kernel's side of a pipe: the number of bytes in it.
struct Pipe(AtomicU32);

impl Pipe {
    fn write(&self, pd: &'static PollDesc) {
        self.0.fetch_add(1, Ordering::SeqCst);
        becomes_ready(pd);
    }

    fn try_read(&self) -> bool {
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok()
    }

    /// Reads as `internal/poll.FD.Read` does.
    fn read(&self, pd: &'static PollDesc) -> Result<(), PollError> {
        poll_runtime_poll_reset(pd, Mode::Read)?;
        while !self.try_read() {
            wait(pd, Mode::Read)?;
        }
        Ok(())
    }
}
