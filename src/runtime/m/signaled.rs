//! Waits that a signal ends, if `pthread_kill` has sent it to the goroutine that waits.
//!
//! 1. The goroutine notes that it waits ([`until_signaled`]).
//! 2. A sender leaves the signal to it (`left_signals.rs`), and marks it (`g/aborted.rs`).
//! 3. The sender, or the goroutine's own park, finds the mark and ends the wait, as an abort does
//!    (`sched/abort.rs`).
//! 4. The wait's frames return. Only then does the caller let the handlers run
//!    ([`handle_signals`]): they may jump out, or end the thread. It learns whether the call goes
//!    on or fails with `EINTR`.
//!
//! Without threads that are goroutines there are no such signals.

use crate::runtime::data::runtime2::G;
#[cfg(pthreads)]
use crate::runtime::g::aborted::{clear_signaled, is_marked};
#[cfg(pthreads)]
use crate::runtime::m::left_signals::{handle_unblocked, is_to_handle, signals_of};

/// What becomes of a wait after the signals that have come meanwhile.
#[cfg(any(feature = "std", loom))]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::runtime) enum Handled {
    /// There was none, or none has a handler: the wait goes on.
    Nothing,
    /// The handlers want calls to go on (`SA_RESTART`).
    Restarts,
    /// The call fails with `EINTR`.
    Ends,
}

#[cfg(any(feature = "std", loom))]
impl Handled {
    /// Whether a call fails with `EINTR`, also after `SA_RESTART` if it is a call that the kernel
    /// wouldn't make again.
    pub(in crate::runtime) fn ends(self, once: bool) -> bool {
        self == Handled::Ends || once && self == Handled::Restarts
    }
}

/// Calls `wait`, in which signals for `gp`, the running goroutine, end its waits.
#[cfg(any(feature = "std", loom))]
#[inline(always)]
pub(in crate::runtime) fn until_signaled<R>(gp: &'static G, wait: impl FnOnce() -> R) -> R {
    #[cfg(pthreads)]
    if has_signals(gp) {
        signals_of(gp).wait();
        let result = wait();
        signals_of(gp).run();
        if is_marked(gp) {
            clear_signaled(gp);
        }
        return result;
    }
    let _ = gp;
    wait()
}

/// Whether `gp` is in a wait that a signal ends.
#[inline(always)]
pub(in crate::runtime) fn waits_for_signals(gp: &G) -> bool {
    #[cfg(pthreads)]
    return has_signals(gp) && signals_of(gp).is_in_wait();
    #[cfg(not(pthreads))]
    {
        let _ = gp;
        false
    }
}

/// Whether a signal is to end the wait that `gp` is in. `gp` stays in that wait meanwhile, if it is
/// in one.
pub(in crate::runtime) fn is_signaled(gp: &G) -> bool {
    #[cfg(pthreads)]
    return waits_for_signals(gp) && is_to_handle(gp);
    #[cfg(not(pthreads))]
    {
        let _ = gp;
        false
    }
}

/// Lets `gp`, the running goroutine, handle the signals that have come in [`until_signaled`]. The
/// handlers may jump out, or end the thread.
#[cfg(any(feature = "std", loom))]
#[inline(always)]
pub(in crate::runtime) fn handle_signals(gp: &'static G) -> Handled {
    #[cfg(pthreads)]
    if has_signals(gp) {
        return handle_unblocked(gp);
    }
    let _ = gp;
    Handled::Nothing
}

/// Whether signals can be left to `gp`.
#[cfg(pthreads)]
#[inline(always)]
fn has_signals(gp: &G) -> bool {
    gp.ext.tp.get() != 0
}
