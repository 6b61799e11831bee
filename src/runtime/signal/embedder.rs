//! Signals for an embedder, which receives them itself, as Go's `os/signal` does by the functions
//! of `sigqueue.go`. A process has one receiver: an embedder's, or that of the crate's own
//! `signal`.

use std::ffi::c_int;
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::runtime::base::fatal::misuse;
use crate::runtime::base::this::started;
use crate::runtime::signal::sigqueue::{refused, signal_disable, signal_enable, signal_ignore, signal_recv};

/// The receiver of signals.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SignalReceiver {
    /// A goroutine of the crate's `signal`.
    Ours = 1,
    /// A goroutine of an embedder's.
    Embedders = 2,
}

/// The current [`SignalReceiver`], or 0.
static RECEIVER: AtomicU8 = AtomicU8::new(0);

/// Makes `who` the receiver, for good. Returns false if the other receiver has claimed the signals
/// before.
pub(crate) fn claim_signals(who: SignalReceiver) -> bool {
    // Relaxed, as it orders nothing.
    let claimed = RECEIVER.compare_exchange(0, who as u8, Ordering::Relaxed, Ordering::Relaxed);
    claimed.is_ok() || claimed == Err(who as u8)
}

/// Checks that an embedder can configure the signal `sig`, and claims signals for embedders.
fn check(sig: c_int) -> io::Result<()> {
    if !(1..=libc::SIGRTMAX()).contains(&sig) || refused(sig).is_some() {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    if !claim_signals(SignalReceiver::Embedders) {
        return Err(io::Error::from_raw_os_error(libc::EBUSY));
    }
    Ok(())
}

/// [`signal_enable`], once the runtime has started.
pub(crate) fn enable_for_embedder(sig: c_int) -> io::Result<()> {
    if !started() {
        return Err(io::Error::from_raw_os_error(libc::EPERM));
    }
    check(sig)?;
    signal_enable(sig)
}

/// [`signal_disable`].
pub(crate) fn disable_for_embedder(sig: c_int) -> io::Result<()> {
    check(sig)?;
    signal_disable(sig);
    Ok(())
}

/// [`signal_ignore`].
pub(crate) fn ignore_for_embedder(sig: c_int) -> io::Result<()> {
    check(sig)?;
    signal_ignore(sig)
}

/// [`signal_recv`]. Ends the process if the receiver is the crate's own.
///
/// # Safety
/// As there.
pub(crate) unsafe fn recv_for_embedder() -> c_int {
    if !claim_signals(SignalReceiver::Embedders) {
        receiver_is_ours()
    }
    // SAFETY: always on the same goroutine, as the caller says, and no other goroutine receives.
    unsafe { signal_recv() }
}

#[cold]
#[inline(never)]
fn receiver_is_ours() -> ! {
    misuse(format_args!(
        "signal_recv called where gosched::signal receives the signals: there is one receiver in a process; \
         ask gosched::signal::notify for them"
    ))
}
