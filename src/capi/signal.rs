//! Signals.

use std::ffi::c_int;
use std::io;

use crate::capi::caller::need_goroutine;
use crate::capi::goroutine::errno;
use crate::runtime::{
    disable_for_embedder, enable_for_embedder, ignore_for_embedder, recv_for_embedder, signal_ignored,
    signal_wait_until_idle, systemstack,
};

unsafe extern "C" {
    /// Asks for a signal: from here on it is received, by `gosched_signal_recv`, instead of what it
    /// did before. Go's `signal_enable`, in `sigqueue.go`.
    ///
    /// There is one receiver in a process. If Rust code in the same program has called
    /// `gosched::signal::notify`, that is the receiver, and this returns `EBUSY`; once one of the
    /// functions here was called, `notify` is an error.
    ///
    /// A signal that was blocked in the thread that started the runtime is blocked in all of the
    /// runtime's, and comes to another thread, which doesn't block it.
    ///
    /// Returns 0, or an errno value:
    /// - `EINVAL`: it is no signal, or one that can't be asked for: the kernel lets nobody catch
    ///   it, it says that an instruction has failed, or the C library needs it;
    /// - `EPERM`: the runtime hasn't started;
    /// - `EBUSY`: Rust code receives signals.
    ///
    /// # Safety
    /// It can be called anywhere but in a signal handler; one at a time for this and the next two.
    pub fn gosched_signal_enable(sig: c_int) -> c_int;

    /// Restores the action that a signal had before it was first enabled or ignored. Go's
    /// `signal_disable`, in `sigqueue.go`.
    ///
    /// Returns 0, `EINVAL` or `EBUSY`, as `gosched_signal_enable`.
    ///
    /// # Safety
    /// As `gosched_signal_enable`.
    pub fn gosched_signal_disable(sig: c_int) -> c_int;

    /// Ignores a signal. Go's `signal_ignore`, in `sigqueue.go`.
    ///
    /// Returns 0, `EINVAL` or `EBUSY`, as `gosched_signal_enable`.
    ///
    /// # Safety
    /// As `gosched_signal_enable`.
    pub fn gosched_signal_ignore(sig: c_int) -> c_int;

    /// Whether `gosched_signal_ignore`, or Rust's, has had a signal ignored. Go's `signal_ignored`,
    /// in `sigqueue.go`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_signal_ignored(sig: c_int) -> bool;

    /// The next signal that has come of those that are enabled; waits for one if there is none. One
    /// that comes again before it was received is received once. The goroutine's thread sleeps
    /// meanwhile. Go's `signal_recv`, in `sigqueue.go`.
    ///
    /// It ends the process if Rust code receives signals.
    ///
    /// # Safety
    /// On a goroutine, always the same one.
    pub fn gosched_signal_recv() -> u32;

    /// Waits until all signals that have come were received, and the receiver waits again: what is
    /// disabled doesn't come after this. Go's `signalWaitUntilIdle`, in `sigqueue.go`.
    ///
    /// # Safety
    /// On a goroutine that isn't the receiver, while there is one.
    pub fn gosched_signal_wait_until_idle();
}

/// Does it where there is room for a lock of std's; returns 0, or an errno value.
fn done(sig: c_int, act: fn(c_int) -> io::Result<()>) -> c_int {
    systemstack(|| act(sig).map_or_else(|error| errno(&error), |()| 0))
}

#[unsafe(no_mangle)]
extern "C" fn gosched_signal_enable_impl(sig: c_int) -> c_int {
    done(sig, enable_for_embedder)
}

#[unsafe(no_mangle)]
extern "C" fn gosched_signal_disable_impl(sig: c_int) -> c_int {
    done(sig, disable_for_embedder)
}

#[unsafe(no_mangle)]
extern "C" fn gosched_signal_ignore_impl(sig: c_int) -> c_int {
    done(sig, ignore_for_embedder)
}

#[unsafe(no_mangle)]
extern "C" fn gosched_signal_ignored_impl(sig: c_int) -> bool {
    signal_ignored(sig)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_signal_recv_impl() -> u32 {
    need_goroutine("gosched_signal_recv", "receive signals");
    // SAFETY: need_goroutine has returned, so this is one, and always the same.
    unsafe { recv_for_embedder() as u32 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_signal_wait_until_idle_impl() {
    need_goroutine("gosched_signal_wait_until_idle", "wait so");
    // SAFETY: need_goroutine has returned, so this is one; it isn't the receiver, and there is one.
    unsafe { signal_wait_until_idle() }
}
