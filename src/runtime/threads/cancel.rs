//! Cancellation of threads that are goroutines: `pthread_cancel`.
//!
//! A request notes itself in the thread's record, and aborts the goroutine, so that its wait ends
//! (`sched/abort.rs`). The thread ends at its next *cancellation point*: a function that may wait,
//! if it was called after the request, or if the request has ended its wait. There it does what
//! `pthread_exit` does.
//!
//! While the thread has cancellation disabled, a shield holds the abort back, and so it does once
//! the thread ends.
//!
//! The type *asynchronous* is only heeded where the thread itself calls a function of this file, or
//! waits for a mutex. A loop without a cancellation point isn't interrupted.

use std::ffi::{c_int, c_void};
use std::io;
use std::ptr;
use std::sync::atomic::Ordering;

use libc::pthread_t;

use crate::runtime::base::real;
use crate::runtime::data::runtime2::G;
use crate::runtime::sched::abort::abort;
use crate::runtime::threads::record::{Record, Whose, is_this_goroutine, record_of, this_thread, whose};

/// In [`Record::cancel`]: the thread is to end.
const REQUESTED: u8 = 1;
/// It doesn't end now: `PTHREAD_CANCEL_DISABLE`.
const DISABLED: u8 = 2;
/// It may end anywhere: `PTHREAD_CANCEL_ASYNCHRONOUS`.
const ASYNCHRONOUS: u8 = 4;
/// It ends already.
const ENDS: u8 = 8;

/// `PTHREAD_CANCEL_DISABLE`, and `PTHREAD_CANCEL_ASYNCHRONOUS`: `pthread.h`.
const YES: c_int = 1;

/// `PTHREAD_CANCELED`: `pthread.h`.
const CANCELED: *mut c_void = ptr::without_provenance_mut(usize::MAX);

/// `ECANCELED`, with which a wait ends.
const WAIT_CANCELED: Option<c_int> = Some(libc::ECANCELED);

/// Asks `thread` to end, if it is a goroutine. Returns the result of `pthread_cancel`; none for a
/// thread of the system.
///
/// # Safety
/// As `pthread_cancel`: this may unwind.
#[cold]
#[inline(never)]
pub(super) unsafe fn cancel(thread: pthread_t) -> Option<c_int> {
    let gp = match whose(thread) {
        Whose::Kernel => return None,
        Whose::Goroutine(_) => return Some(libc::ESRCH),
        Whose::Thread(gp) => gp,
    };
    let goid = gp.goid.get();
    // Before the abort: a wait that the abort ends finds the request. Release pairs with is_wanted.
    record_of(gp).cancel.fetch_or(REQUESTED, Ordering::Release);
    abort(gp, goid);
    if is_this_goroutine(thread).is_some() {
        // SAFETY: as the caller says.
        unsafe { end_if_asynchronous(gp) };
    }
    Some(0)
}

/// Whether the running thread, if it is a goroutine, ends anywhere when it is canceled.
#[cold]
#[inline(never)]
pub(super) fn ends_anywhere() -> bool {
    this_thread().is_some_and(|gp| {
        record_of(gp).cancel.load(Ordering::Relaxed) & (ASYNCHRONOUS | DISABLED | ENDS) == ASYNCHRONOUS
    })
}

/// Whether the running thread is to end at a cancellation point.
#[inline(always)]
fn is_wanted(record: &Record) -> bool {
    // Acquire pairs with cancel.
    record.cancel.load(Ordering::Acquire) & (REQUESTED | DISABLED | ENDS) == REQUESTED
}

/// Ends the caller, if it is a goroutine that is a thread, and was canceled.
///
/// # Safety
/// As `pthread_testcancel`: this may unwind.
#[inline(always)]
pub(super) unsafe fn cancellation_point() {
    if let Some(gp) = this_thread()
        && is_wanted(record_of(gp))
    {
        // SAFETY: as the caller says.
        unsafe { end(gp) };
    }
}

/// [`cancellation_point`] after a call that has returned `ret`: if the request has ended the call's
/// wait, and so nothing that the call has done is lost.
///
/// # Safety
/// As [`cancellation_point`].
#[inline(always)]
pub(super) unsafe fn cancellation_point_after(ret: isize) {
    if ret == -1 {
        // SAFETY: as the caller says.
        unsafe { end_after_error() };
    }
}

#[cold]
#[inline(never)]
unsafe fn end_after_error() {
    if io::Error::last_os_error().raw_os_error() == WAIT_CANCELED {
        // SAFETY: as the caller of cancellation_point_after says.
        unsafe { cancellation_point() };
    }
}

/// Ends `gp`, the running thread, which was canceled.
#[cold]
#[inline(never)]
unsafe fn end(gp: &'static G) -> ! {
    end_cancellation(gp);
    record_of(gp).result.set(CANCELED);
    // SAFETY: on a thread, whose frames allow for that, as the caller of `cancellation_point` says.
    unsafe { real::pthread_exit(CANCELED) }
}

/// Notes that `gp`, the running thread, ends, so that no request ends its waits any more.
pub(super) fn end_cancellation(gp: &'static G) {
    if record_of(gp).cancel.fetch_or(ENDS, Ordering::Relaxed) & ENDS == 0 {
        gp.ext.shields.set(gp.ext.shields.get() + 1);
    }
}

/// Removes what [`end_cancellation`] and [`set_state`] have left, when `gp` runs no code of the
/// program's any more.
pub(super) fn forget_cancellation(gp: &'static G) {
    gp.ext.shields.set(0);
}

/// Sets whether requests end the running thread. Returns the former state; none if it isn't a
/// goroutine, or `state` isn't one.
///
/// # Safety
/// As `pthread_setcancelstate`: this may unwind.
#[cold]
#[inline(never)]
pub(super) unsafe fn set_state(gp: &'static G, state: c_int) -> c_int {
    let was = set(gp, DISABLED, state == YES);
    let shields = gp.ext.shields.get();
    match (was, state == YES) {
        (false, true) => gp.ext.shields.set(shields + 1),
        (true, false) => gp.ext.shields.set(shields - 1),
        _ => {}
    }
    // SAFETY: as the caller says.
    unsafe { end_if_asynchronous(gp) };
    was.into()
}

/// Sets the type of the running thread's cancellation. Returns the former type.
///
/// # Safety
/// As `pthread_setcanceltype`: this may unwind.
#[cold]
#[inline(never)]
pub(super) unsafe fn set_type(gp: &'static G, kind: c_int) -> c_int {
    let was = set(gp, ASYNCHRONOUS, kind == YES);
    // SAFETY: as the caller says.
    unsafe { end_if_asynchronous(gp) };
    was.into()
}

/// Sets or clears a flag of `gp`. Returns whether it was set.
fn set(gp: &'static G, flag: u8, on: bool) -> bool {
    let cancel = &record_of(gp).cancel;
    let before = if on {
        cancel.fetch_or(flag, Ordering::Relaxed)
    } else {
        cancel.fetch_and(!flag, Ordering::Relaxed)
    };
    before & flag != 0
}

/// Ends `gp`, the running thread, if it was canceled and may end anywhere.
///
/// # Safety
/// As [`cancellation_point`].
unsafe fn end_if_asynchronous(gp: &'static G) {
    if record_of(gp).cancel.load(Ordering::Relaxed) & ASYNCHRONOUS != 0 {
        // SAFETY: as the caller says.
        unsafe { cancellation_point() };
    }
}
