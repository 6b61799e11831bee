//! Models of the poller: whoever waits for a descriptor goes on when it becomes ready, is closed, or has its
//! deadline pass, and no readiness is lost; what is late of a descriptor's earlier use does nothing to a later
//! one. `netpoll/poll_desc.rs`, `block.rs`, `ops.rs`, `deadline.rs` and `event.rs`, and `net/registration.rs`, are
//! the files that ship. (loom fails if all threads are blocked, and who waits in vain is.)
//!
//! The rest is stand-ins, with the names that these files use: a goroutine is a thread, the kernel a flag, and a
//! timer fires when a model says so.

#![cfg(loom)]
#![allow(dead_code, reason = "the shipped files have more than is modelled")]

#[allow(unused_imports, unused_macros, reason = "there are more than are modelled")]
#[path = "../../src/atomic.rs"]
mod atomic;
#[path = "../../../../src/netpoll/block.rs"]
mod block;
#[path = "../../../../src/netpoll/deadline.rs"]
mod deadline;
#[path = "../../../../src/netpoll/event.rs"]
mod event;
#[path = "../../../../src/proc/gqueue.rs"]
mod gqueue;
#[path = "../../../../src/link.rs"]
mod link;
mod models_registration;
mod models_reuse;
mod models_wait;
#[path = "../../../../src/netpoll/ops.rs"]
mod ops;
#[path = "../../../../src/netpoll/poll_desc.rs"]
mod poll_desc;
#[path = "../../../../src/net/registration.rs"]
mod registration;
mod standin;

use standin::{lock, netpoll, os, panic, proc, runtime2, stack, sync, time, wait};

use std::sync::Arc;

use atomic::{AtomicU32, Ordering};
use loom::thread;

use block::netpollready;
use deadline::poll_runtime_poll_set_deadline;
use event::netpollevent;
use gqueue::GList;
use netpoll::netpoll_waiters;
use ops::*;
use poll_desc::{Mode, PollDesc, PollError};
use proc::park::goready;
use runtime2::Timer;

/// A time that doesn't come by itself.
const LATER: i64 = 1000;

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        model();
        assert_eq!(netpoll_waiters(), 0);
    });
}

fn open() -> &'static PollDesc {
    // SAFETY: the kernel here is this file.
    unsafe { poll_runtime_poll_open(3) }.unwrap()
}

fn wait(pd: &'static PollDesc, mode: Mode) -> Result<(), PollError> {
    // SAFETY: on a thread, which can park here.
    unsafe { poll_runtime_poll_wait(pd, mode) }
}

/// What the poller does when the kernel says that it is ready.
fn becomes_ready(pd: &'static PollDesc) {
    let list = GList::default();
    let delta = netpollready(&list, pd, true, true);
    go_on(list, delta);
}

fn go_on(list: GList, delta: i32) {
    while let Some(gp) = list.pop() {
        goready(gp);
    }
    netpoll::netpoll_adjust_waiters(delta);
}

/// The kernel tells this of the descriptor that was opened last: the poller has it now, and does something
/// about it when the result is called.
fn told(events: libc::c_int) -> impl FnOnce() + Send {
    let (pd, data) = netpoll::epoll::registered();
    move || {
        // loom doesn't know of `fdseq`, and tries no other order of accesses to it. It knows of what is read here.
        pd.info();
        let list = GList::default();
        // SAFETY: the kernel was given `data`.
        let delta = unsafe { netpollevent(&list, events as u32, data) };
        go_on(list, delta);
    }
}

fn close(pd: &'static PollDesc) {
    // SAFETY: it is registered.
    unsafe { poll_runtime_poll_unblock(pd) };
}

/// Closes it, and opens one that is the same to the poller.
fn reopen(pd: &'static PollDesc) {
    close(pd);
    // SAFETY: nobody waits.
    unsafe { poll_runtime_poll_close(pd) };
    assert!(std::ptr::eq(open(), pd));
}

fn set_deadline(pd: &'static PollDesc, d: i64, read: bool, write: bool) {
    // SAFETY: it is registered.
    unsafe { poll_runtime_poll_set_deadline(pd, d, read, write) };
}

/// Takes what the timer was set for, to fire when the result is called.
fn fires(t: &'static Timer) -> impl FnOnce() + Send {
    struct Fires(runtime2::TimerFn, *mut std::ffi::c_void, usize);
    // SAFETY: a timer fires on any thread.
    unsafe impl Send for Fires {}
    let (arg, seq) = t.set.take().unwrap();
    let fires = Fires(t.f.get().unwrap(), arg, seq);
    move || {
        let Fires(f, arg, seq) = { fires };
        // SAFETY: with what it was set for.
        unsafe { f(arg, seq) }
    }
}

/// The kernel's side of a pipe: how many bytes there are.
struct Pipe(AtomicU32);

impl Pipe {
    fn write(&self, pd: &'static PollDesc) {
        self.0.fetch_add(1, Ordering::SeqCst);
        becomes_ready(pd);
    }

    fn try_read(&self) -> bool {
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok()
    }

    /// As `internal/poll.FD.Read`.
    fn read(&self, pd: &'static PollDesc) -> Result<(), PollError> {
        poll_runtime_poll_reset(pd, Mode::Read)?;
        while !self.try_read() {
            wait(pd, Mode::Read)?;
        }
        Ok(())
    }
}
