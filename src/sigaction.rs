//! What the process does when a signal comes that the program has asked for, and what it did before: a part
//! of Go's `signal_unix.go`.

use std::ffi::c_int;
use std::io;
use std::sync::{Mutex, MutexGuard};

use crate::signal_unix::{getsig, is_handled, our_action, setsig};

/// What each signal did before it was enabled or ignored, by its number. Go's `fwdSig`.
static FORMER: Mutex<Former> = Mutex::new([None; 65]);

type Former = [Option<libc::sigaction>; 65];

fn former() -> MutexGuard<'static, Former> {
    FORMER.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Lets our handler handle a signal. Go's `sigenable`.
pub(crate) fn sigenable(sig: c_int) -> io::Result<()> {
    act(sig, our_action())
}

/// Lets a signal do nothing. Go's `sigignore`.
pub(crate) fn sigignore(sig: c_int) -> io::Result<()> {
    // SAFETY: all zero is an action.
    let mut nothing: libc::sigaction = unsafe { std::mem::zeroed() };
    nothing.sa_sigaction = libc::SIG_IGN;
    act(sig, nothing)
}

/// Sets what a signal does, and keeps what it did before. What the runtime itself needs stays handled.
fn act(sig: c_int, action: libc::sigaction) -> io::Result<()> {
    if is_handled(sig) {
        return Ok(());
    }
    let former = &mut former()[sig as usize];
    let before = match *former {
        Some(before) => before,
        None => getsig(sig)?,
    };
    // SAFETY: our handler, or none.
    unsafe { setsig(sig, &action) }?;
    *former = Some(before);
    Ok(())
}

/// Lets a signal do what it did before. Go's `sigdisable`.
pub(crate) fn sigdisable(sig: c_int) {
    if let Some(before) = former()[sig as usize].take() {
        // SAFETY: the program's own action; it was in force, so it can't be refused.
        let _restored = unsafe { setsig(sig, &before) };
    }
}
