//! Running code that may fault or wait forever, in a report that must go on: a stack may be broken,
//! and the thread that has failed may hold any lock. And running code that may fault in a program
//! that goes on: walking a stack as a signal found it.

use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::runtime::arch::{Sigctxt, call_guarded};
use crate::runtime::base::os::{gettid, signal_m};
use crate::runtime::base::this::this_m;

/// A thread whose [`guarded`] calls really are guarded.
struct Guard {
    /// The thread, identified as by [`this_thread`]; 0 if there is none.
    thread: AtomicUsize,
    /// The stack pointer of its innermost [`guarded`] call; 0 outside of such a call. Only its own
    /// thread reads it, and handlers that interrupt that thread.
    at: AtomicUsize,
}

impl Guard {
    const fn new() -> Self {
        Guard { thread: AtomicUsize::new(0), at: AtomicUsize::new(0) }
    }

    fn is_mine(&self) -> bool {
        self.thread.load(Ordering::Relaxed) == this_thread()
    }
}

/// The thread that reports a fatal error.
static REPORTER: Guard = Guard::new();
/// The kernel's number of that thread.
static PROCID: AtomicU64 = AtomicU64::new(0);
/// The threads that walk copies of stacks made by handlers, in a program that goes on: one for each
/// [`Copied`].
static WALKERS: [Guard; 2] = [Guard::new(), Guard::new()];

/// The purpose of a handler's copy of a stack. For each purpose, one thread at a time walks copies.
#[derive(Clone, Copy)]
pub(in crate::runtime) enum Copied {
    /// A look at the frames of a running goroutine.
    Snapshot = 0,
    /// A profile.
    #[cfg(feature = "pprof")]
    Sample = 1,
}

/// Returns the guard of the calling thread, if it has one.
fn mine() -> Option<&'static Guard> {
    std::iter::once(&REPORTER).chain(&WALKERS).find(|guard| guard.is_mine())
}

/// Returns an identifier of this thread that costs no system call: the M's address. glibc's
/// identifier is the goroutine's, if that has thread-locals of its own.
fn this_thread() -> usize {
    // SAFETY: takes nothing.
    this_m().map_or_else(|| unsafe { libc::pthread_self() as usize }, |mp| ptr::from_ref(mp).addr())
}

/// Makes the calling thread the reporter, for good.
pub(in crate::runtime) fn become_reporter() {
    PROCID.store(gettid(), Ordering::Relaxed);
    REPORTER.thread.store(this_thread(), Ordering::Relaxed);
}

/// Calls `f`, which walks a copy of a stack. A fault ends a [`guarded`] call in `f`. The goroutine
/// goes on meanwhile, and the code in which it was may be unloaded.
pub(in crate::runtime) fn as_walker<R>(copied: Copied, f: impl FnOnce() -> R) -> R {
    if is_reporter() {
        return f();
    }
    let walker = &WALKERS[copied as usize].thread;
    walker.store(this_thread(), Ordering::Relaxed);
    let result = f();
    walker.store(0, Ordering::Relaxed);
    result
}

/// Whether the calling thread reports a fatal error.
pub(in crate::runtime) fn is_reporter() -> bool {
    REPORTER.is_mine()
}

/// Passes this signal, which came to another thread, to the reporter's thread. Called in a handler.
pub(in crate::runtime) fn pass_to_reporter(sig: libc::c_int) {
    // The reporter's thread ends with the process, so it is there.
    signal_m(PROCID.load(Ordering::Relaxed), sig);
}

/// Calls `f`. Returns whether `f` has returned. On the thread that reports a fatal error, a fault
/// or the watchdog ends `f`: then nothing of `f` is dropped, and its locks stay locked. On a thread
/// that walks copies of stacks, a fault ends `f`, too; `f` takes no locks there.
pub(in crate::runtime) fn guarded(f: impl FnOnce()) -> bool {
    let Some(guard) = mine() else {
        f();
        return true;
    };
    let outer = guard.at.load(Ordering::Relaxed);
    // SAFETY: on g0 or on a thread's own stack nothing unwinds. If `f` is ended, its remains belong
    // to a process that ends, or to an unwinder, which keeps nothing.
    let returned = unsafe { call_guarded(f, guard.at.as_ptr()) };
    guard.at.store(outer, Ordering::Relaxed);
    returned
}

/// Ends the innermost [`guarded`] call of this thread once the handler that has interrupted this
/// context returns. Returns whether there is such a call.
pub(in crate::runtime) fn end_guarded(context: &mut Sigctxt<'_>) -> bool {
    let at = mine().map_or(0, |guard| guard.at.swap(0, Ordering::Relaxed));
    if at != 0 {
        // SAFETY: gosched_guarded has stored this address, and hasn't returned: otherwise there
        // would be another value.
        unsafe { context.end_guarded(at) };
    }
    at != 0
}
