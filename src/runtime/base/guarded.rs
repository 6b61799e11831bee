//! Doing what may fault, or wait forever, in a report that must go on: a stack may be broken, and whoever has
//! failed may hold any lock.

use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::runtime::arch::{Sigctxt, call_guarded};
use crate::runtime::base::os::{gettid, signal_m};
use crate::runtime::base::this::this_m;

/// The thread that reports a fatal error, as [`this_thread`] names it; 0 before.
static REPORTER: AtomicUsize = AtomicUsize::new(0);
/// The kernel's number of that thread.
static PROCID: AtomicU64 = AtomicU64::new(0);
/// The stack pointer of the reporter's innermost [`guarded`] call; 0 outside of one. Its own thread alone
/// reads it, and the handlers that interrupt that.
static AT: AtomicUsize = AtomicUsize::new(0);

/// A name that costs no system call: the M, as glibc's is the goroutine's if that has thread-locals of its own.
fn this_thread() -> usize {
    // SAFETY: takes nothing.
    this_m().map_or_else(|| unsafe { libc::pthread_self() as usize }, |mp| ptr::from_ref(mp).addr())
}

/// Makes the calling thread the one that reports, for good.
pub(in crate::runtime) fn become_reporter() {
    PROCID.store(gettid(), Ordering::Relaxed);
    REPORTER.store(this_thread(), Ordering::Relaxed);
}

/// Whether the calling thread reports a fatal error.
pub(in crate::runtime) fn is_reporter() -> bool {
    REPORTER.load(Ordering::Relaxed) == this_thread()
}

/// Lets the reporter's thread have this signal, which has come to another. In a handler.
pub(in crate::runtime) fn pass_to_reporter(sig: libc::c_int) {
    // The reporter's thread ends with the process, so it is there.
    signal_m(PROCID.load(Ordering::Relaxed), sig);
}

/// Calls `f`; says whether it has returned. On the thread that reports a fatal error, a fault ends it, and so
/// does the watchdog: nothing of `f` is dropped then, and locks that it had stay locked.
pub(in crate::runtime) fn guarded(f: impl FnOnce()) -> bool {
    if !is_reporter() {
        f();
        return true;
    }
    let outer = AT.load(Ordering::Relaxed);
    // SAFETY: on g0 or on a thread's own stack nothing unwinds. What is left behind if `f` is ended belongs
    // to a process that ends.
    let returned = unsafe { call_guarded(f, AT.as_ptr()) };
    AT.store(outer, Ordering::Relaxed);
    returned
}

/// Ends the innermost [`guarded`] call when the handler returns that has interrupted this context; says
/// whether there is one on this thread.
pub(in crate::runtime) fn end_guarded(context: &mut Sigctxt<'_>) -> bool {
    let at = if is_reporter() { AT.swap(0, Ordering::Relaxed) } else { 0 };
    if at != 0 {
        // SAFETY: gosched_guarded has left this address, and hasn't returned: then it would be another.
        unsafe { context.end_guarded(at) };
    }
    at != 0
}
