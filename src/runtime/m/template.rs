//! The template thread, which is in a known good state and makes threads for those that may not be:
//! Go's `templateThread`.
//!
//! A new thread inherits from its maker: processors it may run on, priorities, name spaces,
//! capabilities. A goroutine may be locked to its thread to change such things, and a thread that
//! isn't ours may have any. None of that must get into the pool of M's.

use std::cell::Cell;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::runtime::arch::systemstack;
use crate::runtime::data::runtime2::{M, Mutex, Note};
use crate::runtime::lock::note::{noteclear, notesleep, notewakeup};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::thread::newm1;

/// An M that waits for its thread, and the thread that has asked for it.
struct Request {
    mp: &'static M,
    next: *const Request,
    made: Cell<Option<io::Result<()>>>,
    done: Note,
}

/// Requests, and the thread that serves them. Go's `newmHandoff`.
pub(super) struct NewmHandoff {
    lock: Mutex,
    /// The list of requests, on the stacks of the threads that wait; protected by the lock.
    newm: Cell<*const Request>,
    /// The template thread sleeps until `wake`; protected by the lock.
    waiting: Cell<bool>,
    wake: Note,
    /// The template thread is being made, or has been.
    pub(in crate::runtime) started: AtomicBool,
    /// The template thread has been made.
    pub(in crate::runtime) have_template_thread: AtomicBool,
}

// SAFETY: the cells are only touched with the lock held; the rest is atomic.
unsafe impl Sync for NewmHandoff {}

pub(super) static NEWM_HANDOFF: NewmHandoff = NewmHandoff {
    lock: Mutex::new(),
    newm: Cell::new(ptr::null()),
    waiting: Cell::new(false),
    wake: Note { key: AtomicU32::new(0) },
    started: AtomicBool::new(false),
    have_template_thread: AtomicBool::new(false),
};

/// What the template thread's M runs; it never ends. Go's `templateThread`.
pub(super) fn template_thread() {
    let handoff = &NEWM_HANDOFF;
    loop {
        lock(&handoff.lock);
        let mut next = handoff.newm.replace(ptr::null());
        if next.is_null() {
            handoff.waiting.set(true);
            noteclear(&handoff.wake);
            unlock(&handoff.lock);
            notesleep(&handoff.wake);
            continue;
        }
        unlock(&handoff.lock);
        // SAFETY: newm_by_template keeps its request until `done` is woken, which comes after the
        // last use, and touches `made` only after that.
        while let Some(request) = unsafe { next.as_ref() } {
            next = request.next;
            request.made.set(Some(newm1(request.mp)));
            notewakeup(&request.done);
        }
    }
}

/// Has the template thread make the thread of `mp`, and waits for that; none if there is no such
/// thread.
pub(super) fn newm_by_template(mp: &'static M) -> Option<io::Result<()>> {
    let handoff = &NEWM_HANDOFF;
    if !handoff.have_template_thread.load(Ordering::Relaxed) {
        return None;
    }
    lock(&handoff.lock);
    let done = Note { key: AtomicU32::new(0) };
    let request = Request { mp, next: handoff.newm.get(), made: Cell::new(None), done };
    handoff.newm.set(&request);
    let wake = handoff.waiting.replace(false);
    unlock(&handoff.lock);
    if wake {
        notewakeup(&handoff.wake);
    }
    systemstack(|| notesleep(&request.done));
    request.made.take()
}
