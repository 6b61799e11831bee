//! A thread's record, in the slot of its goroutine's G, and the way from a `pthread_t` to the G.
//!
//! The record belongs to the goroutine until that has ended, and then to the holder of the thread's
//! handle: the thread that joins it. There is a handle (`sched/goexit.rs`) while the thread is
//! joinable. [`Record::state`] says who has it.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};

use libc::pthread_t;

use crate::runtime::arch::getg;
use crate::runtime::data::ext::IS_THREAD;
use crate::runtime::data::runtime2::{G, GDEAD, M};
use crate::runtime::g::status::readgstatus;
use crate::runtime::sched::goexit::has_no_handle;
use crate::runtime::threads::create::thread_main;
use crate::runtime::tls::g_of_thread;

/// The function of a thread, and its argument.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Start {
    /// A function of one pointer. It returns a pointer, or an `int` if it is one of `<threads.h>`.
    pub(super) f: *const c_void,
    pub(super) arg: *mut c_void,
    pub(super) returns_int: bool,
}

/// What is known of a thread.
pub(super) struct Record {
    pub(super) start: Start,
    /// What a join returns: set by `pthread_exit`, or when the function has returned.
    pub(super) result: Cell<*mut c_void>,
    state: AtomicU8,
    /// How far its cancellation is: `cancel.rs`.
    pub(super) cancel: AtomicU8,
}

/// The thread may be joined or detached.
const JOINABLE: u8 = 0;
/// A thread joins it, or has joined it.
const JOINED: u8 = 1;
/// It was detached.
const DETACHED: u8 = 2;

impl Record {
    pub(super) fn new(start: Start, detached: bool) -> Self {
        let state = if detached { DETACHED } else { JOINABLE };
        Record {
            start,
            result: Cell::new(ptr::null_mut()),
            state: AtomicU8::new(state),
            cancel: AtomicU8::new(0),
        }
    }

    /// Takes the handle of the thread, to join it. Returns whether the caller has it now.
    pub(super) fn begin_join(&self) -> bool {
        self.leave_joinable(JOINED)
    }

    /// Gives back the handle that [`begin_join`](Self::begin_join) has taken.
    pub(super) fn give_up_join(&self) {
        // Release pairs with leave_joinable, as a handle is used by one thread after the other.
        self.state.store(JOINABLE, Ordering::Release);
    }

    /// Takes the handle of the thread, to drop it. Returns whether the caller has it now.
    pub(super) fn begin_detach(&self) -> bool {
        self.leave_joinable(DETACHED)
    }

    fn leave_joinable(&self, state: u8) -> bool {
        // Acquire pairs with give_up_join.
        self.state.compare_exchange(JOINABLE, state, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Whether the thread was detached.
    pub(super) fn is_detached(&self) -> bool {
        self.state.load(Ordering::Relaxed) == DETACHED
    }
}

/// Whose a `pthread_t` is.
pub(super) enum Whose {
    /// That of a thread of the system, or of nobody.
    Kernel,
    /// That of a goroutine that the program made as a goroutine: it can't be joined or detached.
    Goroutine(&'static G),
    /// That of a goroutine that was made as a thread.
    Thread(&'static G),
}

/// Returns whose `thread` is.
pub(super) fn whose(thread: pthread_t) -> Whose {
    match g_of_thread(thread) {
        None => Whose::Kernel,
        Some(gp) if is_thread(gp) => Whose::Thread(gp),
        Some(gp) => Whose::Goroutine(gp),
    }
}

/// Whether `gp` was made as a thread.
fn is_thread(gp: &G) -> bool {
    gp.startpc.get() == thread_main as *const () as usize
}

/// Whether `gp` has ended, and can't be joined any more.
pub(super) fn is_gone(gp: &G) -> bool {
    readgstatus(gp) == GDEAD && has_no_handle(gp)
}

/// Returns the record of `gp`, which was made as a thread.
pub(super) fn record_of(gp: &'static G) -> &'static Record {
    // SAFETY: `create.rs` has put the record there, and nothing else is put there before the G is
    // used again. What other threads change in it is atomic.
    unsafe { &*gp.ext.slot.value::<Record>() }
}

/// Returns the running goroutine, if it was made as a thread.
#[inline(always)]
pub(super) fn this_thread() -> Option<&'static G> {
    getg().filter(|gp| gp.ext.as_thread.get() & IS_THREAD != 0)
}

/// Returns the running goroutine and its M, if the goroutine has thread-locals of its own. Returns
/// none on g0.
pub(super) fn this_goroutine() -> Option<(&'static G, &'static M)> {
    let gp = getg().filter(|gp| gp.ext.tp.get() != 0)?;
    let mp = gp.m.get().filter(|mp| mp.runs(gp))?;
    Some((gp, mp))
}

/// Returns the running goroutine, if `thread` is its own.
pub(super) fn is_this_goroutine(thread: pthread_t) -> Option<&'static G> {
    let gp = getg()?;
    let is_own = gp.ext.tp.get() != 0 && g_of_thread(thread).is_some_and(|found| ptr::eq(found, gp));
    is_own.then_some(gp)
}
