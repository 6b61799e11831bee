//! Doing what may fault, or wait forever, in a report that must go on: a stack may be broken, and
//! whoever has failed may hold any lock. And what may fault in a program that goes on: walking a
//! stack as a signal found it.

use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::runtime::arch::{Sigctxt, call_guarded};
use crate::runtime::base::os::{gettid, signal_m};
use crate::runtime::base::this::this_m;

/// A thread whose [`guarded`] calls are.
struct Guard {
    /// The thread, as [`this_thread`] names it; 0 if there is none.
    thread: AtomicUsize,
    /// The stack pointer of its innermost [`guarded`] call; 0 outside of one. Its own thread alone
    /// reads it, and the handlers that interrupt that.
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
/// The threads that walk what handlers have copied of stacks, in a program that goes on: one for
/// each [`Copied`].
static WALKERS: [Guard; 2] = [Guard::new(), Guard::new()];

/// What a handler has copied a stack for. Of each kind one thread at a time walks copies.
#[derive(Clone, Copy)]
pub(in crate::runtime) enum Copied {
    /// Somebody wants to know what a goroutine does that runs.
    Snapshot = 0,
    /// A profile.
    #[cfg(feature = "pprof")]
    Sample = 1,
}

/// The guard of the calling thread, if it has one.
fn mine() -> Option<&'static Guard> {
    std::iter::once(&REPORTER).chain(&WALKERS).find(|guard| guard.is_mine())
}

/// A name that costs no system call: the M, as glibc's is the goroutine's if that has thread-locals
/// of its own.
fn this_thread() -> usize {
    // SAFETY: takes nothing.
    this_m().map_or_else(|| unsafe { libc::pthread_self() as usize }, |mp| ptr::from_ref(mp).addr())
}

/// Makes the calling thread the one that reports, for good.
pub(in crate::runtime) fn become_reporter() {
    PROCID.store(gettid(), Ordering::Relaxed);
    REPORTER.thread.store(this_thread(), Ordering::Relaxed);
}

/// Calls `f`, which walks a copy of a stack: a fault there ends a [`guarded`] call in it. The
/// goroutine goes on meanwhile, and the code that it was in may be unloaded.
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

/// Lets the reporter's thread have this signal, which has come to another. In a handler.
pub(in crate::runtime) fn pass_to_reporter(sig: libc::c_int) {
    // The reporter's thread ends with the process, so it is there.
    signal_m(PROCID.load(Ordering::Relaxed), sig);
}

/// Calls `f`; says whether it has returned. On the thread that reports a fatal error, a fault ends
/// it, and so does the watchdog: nothing of `f` is dropped then, and locks that it had stay locked.
/// So does a fault on a thread that walks copies of stacks, which calls nothing here that has any.
pub(in crate::runtime) fn guarded(f: impl FnOnce()) -> bool {
    let Some(guard) = mine() else {
        f();
        return true;
    };
    let outer = guard.at.load(Ordering::Relaxed);
    // SAFETY: on g0 or on a thread's own stack nothing unwinds. What is left behind if `f` is ended
    // belongs to a process that ends, or is an unwinder's, which keeps nothing.
    let returned = unsafe { call_guarded(f, guard.at.as_ptr()) };
    guard.at.store(outer, Ordering::Relaxed);
    returned
}

/// Ends the innermost [`guarded`] call when the handler returns that has interrupted this context;
/// says whether there is one on this thread.
pub(in crate::runtime) fn end_guarded(context: &mut Sigctxt<'_>) -> bool {
    let at = mine().map_or(0, |guard| guard.at.swap(0, Ordering::Relaxed));
    if at != 0 {
        // SAFETY: gosched_guarded has left this address, and hasn't returned: then it would be
        // another.
        unsafe { context.end_guarded(at) };
    }
    at != 0
}
