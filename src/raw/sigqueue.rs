//! Signals, as they come to the one goroutine that receives them: Go's `sigqueue.go`, as its
//! `os/signal` calls it.
//!
//! These are for authors who port a runtime. Everybody else uses [`signal`](crate::signal), which
//! has a receiver of its own. There can't be both: the first of the two to ask receives the
//! process's signals for good, and the other gets an error.
//!
//! A signal that was blocked in the thread that started the runtime is blocked in all threads of
//! the runtime, and comes to another thread, which doesn't block it. (In Go `os/signal` has a
//! thread for that, `ensureSigM`.)
//!
//! ```
//! use gosched::signal::Signal;
//! use gosched::sigqueue::{signal_enable, signal_recv};
//!
//! gosched::run(|| {
//!     signal_enable(Signal::HUP.as_raw())?;
//!     // SAFETY: the only goroutine that receives; it keeps nothing of a thread-local.
//!     let receiver = gosched::go(|| unsafe { signal_recv() });
//!     gosched::process::Command::new("sh").args(["-c", "kill -HUP $PPID"]).status()?;
//!     assert_eq!(receiver.join().unwrap(), Signal::HUP.as_raw());
//!     Ok::<(), std::io::Error>(())
//! })
//! .unwrap();
//! ```

use std::ffi::c_int;
use std::io;

use crate::runtime::{
    self, disable_for_embedder, enable_for_embedder, entry_check, ignore_for_embedder, recv_for_embedder,
    systemstack,
};

/// Asks for a signal: from here on [`signal_recv`] receives it, and its former action isn't taken.
/// At most one caller at a time may call this function and the next two. Go's `signal_enable`.
///
/// # Errors
/// `EINVAL` if the signal [can't be asked for](crate::signal#what-cant-be-asked-for), `EPERM`
/// before the runtime has started, `EBUSY` if [`signal`](crate::signal) receives the signals.
pub fn signal_enable(sig: c_int) -> io::Result<()> {
    entry_check();
    systemstack(|| enable_for_embedder(sig))
}

/// Restores the action that a signal had before it was first enabled or ignored. Go's
/// `signal_disable`.
///
/// # Errors
/// `EINVAL` and `EBUSY`, as [`signal_enable`].
pub fn signal_disable(sig: c_int) -> io::Result<()> {
    entry_check();
    systemstack(|| disable_for_embedder(sig))
}

/// Ignores a signal. Go's `signal_ignore`.
///
/// # Errors
/// `EINVAL` and `EBUSY`, as [`signal_enable`].
pub fn signal_ignore(sig: c_int) -> io::Result<()> {
    entry_check();
    systemstack(|| ignore_for_embedder(sig))
}

/// Whether a signal is ignored because of [`signal_ignore`] or
/// [`signal::ignore`](crate::signal::ignore). Go's `signal_ignored`.
pub fn signal_ignored(sig: c_int) -> bool {
    runtime::signal_ignored(sig)
}

/// Returns the next enabled signal that has come. If there is none, waits for one, and blocks its
/// thread meanwhile. Ends the process if [`signal`](crate::signal) receives the signals. Go's
/// `signal_recv`.
///
/// # Safety
/// On a goroutine, always the same one; nothing obtained from a thread-local is kept across this.
#[inline(always)]
pub unsafe fn signal_recv() -> c_int {
    entry_check();
    // SAFETY: always on the same goroutine, which keeps nothing of a thread-local, as the caller
    // says.
    unsafe { recv_for_embedder() }
}

offered! {
    /// Waits until all signals that have come were received, and the receiver waits again. No
    /// disabled signal comes after this. Go's `signalWaitUntilIdle`.
    ///
    /// # Safety
    /// On a goroutine that isn't the receiver, while there is one. Nothing obtained from a
    /// thread-local is kept across this.
    pub unsafe fn signal_wait_until_idle();
}
