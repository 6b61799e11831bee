//! Setting the actions of signals that the program has asked for, and restoring the former ones:
//! Go's `sigenable`, `sigdisable` and `sigignore`; `signal_enable`, `signal_disable` and
//! `signal_ignore`.

use std::ffi::c_int;
use std::io;
use std::sync::{Mutex, MutexGuard};

use crate::runtime::data::atomic::Ordering;
use crate::runtime::signal::handler::{getsig, is_handled, our_action, setsig};
use crate::runtime::signal::sigqueue::{SIG, bit};

/// The action that each signal had before it was enabled or ignored, indexed by the signal's
/// number. Go's `fwdSig`.
static FORMER: Mutex<Former> = Mutex::new([None; 65]);

type Former = [Option<libc::sigaction>; 65];

fn former() -> MutexGuard<'static, Former> {
    FORMER.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Installs our handler for a signal. Go's `sigenable`.
fn sigenable(sig: c_int) -> io::Result<()> {
    act(sig, our_action())
}

/// Ignores a signal. Go's `sigignore`.
fn sigignore(sig: c_int) -> io::Result<()> {
    // SAFETY: all zero is a valid action.
    let mut nothing: libc::sigaction = unsafe { std::mem::zeroed() };
    nothing.sa_sigaction = libc::SIG_IGN;
    act(sig, nothing)
}

/// Sets the action of a signal, and keeps the former one. Signals that the runtime itself needs
/// stay as they are.
fn act(sig: c_int, action: libc::sigaction) -> io::Result<()> {
    if is_handled(sig) {
        return Ok(());
    }
    let former = &mut former()[sig as usize];
    let before = match *former {
        Some(before) => before,
        None => getsig(sig)?,
    };
    // SAFETY: the action is our handler, which may be called anywhere, or SIG_IGN.
    unsafe { setsig(sig, &action) }?;
    *former = Some(before);
    Ok(())
}

/// Restores the former action of a signal. Go's `sigdisable`.
fn sigdisable(sig: c_int) {
    if let Some(before) = former()[sig as usize].take() {
        // SAFETY: the program's own action, which was in force before. So it can't be refused,
        // either.
        let _restored = unsafe { setsig(sig, &before) };
    }
}

/// Returns why no program can ask for a signal, or none if it can.
pub(crate) fn refused(sig: c_int) -> Option<&'static str> {
    match sig {
        libc::SIGKILL | libc::SIGSTOP => Some("the kernel lets nobody catch it"),
        libc::SIGILL | libc::SIGTRAP | libc::SIGBUS | libc::SIGFPE | libc::SIGSEGV | libc::SIGSYS => {
            Some("it says that an instruction has failed, which would fail again")
        }
        _ if sig > libc::SIGSYS && sig < libc::SIGRTMIN() => Some("the C library needs it"),
        _ => None,
    }
}

/// Makes a signal wanted: from now on it is received. Only one thread at a time may call this or
/// the next two functions. Go's `signal_enable`.
pub(crate) fn signal_enable(sig: c_int) -> io::Result<()> {
    SIG.wanted.fetch_or(bit(sig), Ordering::SeqCst);
    SIG.ignored.fetch_and(!bit(sig), Ordering::SeqCst);
    sigenable(sig).inspect_err(|_| {
        SIG.wanted.fetch_and(!bit(sig), Ordering::SeqCst);
    })
}

/// Restores the action that a signal had before it was first enabled or ignored. Go's
/// `signal_disable`.
pub(crate) fn signal_disable(sig: c_int) {
    // Restored first: a handler of ours that finds the signal no longer wanted sends it again, and
    // this action is to get it.
    sigdisable(sig);
    SIG.wanted.fetch_and(!bit(sig), Ordering::SeqCst);
    SIG.ignored.fetch_and(!bit(sig), Ordering::SeqCst);
}

/// Ignores a signal. Go's `signal_ignore`.
pub(crate) fn signal_ignore(sig: c_int) -> io::Result<()> {
    sigignore(sig)?;
    SIG.wanted.fetch_and(!bit(sig), Ordering::SeqCst);
    SIG.ignored.fetch_or(bit(sig), Ordering::SeqCst);
    Ok(())
}
