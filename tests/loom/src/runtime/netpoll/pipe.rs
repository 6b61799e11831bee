//! Descriptors, and threads that wait for them: a waiter continues when its descriptor becomes
//! ready, is closed, or reaches its deadline, and no readiness is lost. A late event of a
//! descriptor's earlier use does nothing to a later use. (loom fails if all threads are blocked,
//! and a thread that waits in vain is blocked.)

pub(crate) use std::sync::Arc;

pub(crate) use loom::thread;

use crate::runtime::data::atomic::check_once;
pub(crate) use crate::runtime::data::atomic::{AtomicU32, Ordering};
use crate::runtime::made::set_goroutines_are_threads;
pub(crate) use crate::runtime::netpoll::epoll::{reports_ready, told};
use crate::runtime::netpoll::netpoll_waiters;
pub(crate) use crate::runtime::time::modify::{LATER, fires};
pub(crate) use crate::runtime::*;

pub(crate) fn check(model: impl Fn() + Sync + Send + 'static) {
    check_once(Some(3), move || {
        set_goroutines_are_threads();
        model();
        assert_eq!(netpoll_waiters(), 0);
    });
}

pub(crate) fn open() -> &'static PollDesc {
    // SAFETY: the kernel here takes any number.
    unsafe { poll_runtime_poll_open(3) }.unwrap()
}

pub(crate) fn wait(pd: &'static PollDesc, mode: Mode) -> Result<(), PollError> {
    // SAFETY: on a thread, which can park here.
    unsafe { poll_runtime_poll_wait(pd, mode) }
}

pub(crate) fn close(pd: &'static PollDesc) {
    // SAFETY: the descriptor is registered.
    unsafe { poll_runtime_poll_unblock(pd) };
}

/// Closes the descriptor, and opens one that looks the same to the poller.
pub(crate) fn reopen(pd: &'static PollDesc) {
    close(pd);
    // SAFETY: nobody waits.
    unsafe { poll_runtime_poll_close(pd) };
    assert!(std::ptr::eq(open(), pd));
}

pub(crate) fn set_deadline(pd: &'static PollDesc, d: i64, read: bool, write: bool) {
    // SAFETY: the descriptor is registered.
    unsafe { poll_runtime_poll_set_deadline(pd, d, read, write) };
}

/// The kernel's side of a pipe: the number of bytes in it.
pub(crate) struct Pipe(pub(crate) AtomicU32);

impl Pipe {
    pub(crate) fn write(&self, pd: &'static PollDesc) {
        self.0.fetch_add(1, Ordering::SeqCst);
        reports_ready(pd);
    }

    pub(crate) fn try_read(&self) -> bool {
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok()
    }

    /// Reads as `internal/poll.FD.Read` does.
    pub(crate) fn read(&self, pd: &'static PollDesc) -> Result<(), PollError> {
        poll_runtime_poll_reset(pd, Mode::Read)?;
        while !self.try_read() {
            wait(pd, Mode::Read)?;
        }
        Ok(())
    }
}
