//! Handlers that the program installs. They have to be on the signal stack. A handler on the
//! goroutine's stack looks like the code that it has interrupted. A wait in it would park the
//! goroutine in the middle of anything, with signals blocked. Go asks the same of the C code that
//! it is linked with.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::arch::syscall::sigaction as libc_sigaction;
use crate::runtime::data::runtime2::sched;
use crate::runtime::stdpark::live::live;

/// `sigaction`: the C library's, but for the flag.
///
/// # Safety
/// As the C library's.
pub(super) unsafe fn sigaction(
    sig: c_int,
    action: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: null, or an action, as the caller says.
    let moved = unsafe { action.as_ref() }.filter(|_| live()).map(on_signal_stack);
    let action = moved.as_ref().map_or(action, ptr::from_ref);
    // SAFETY: as the caller says; a handler may be called on another stack.
    unsafe { libc_sigaction(sig, action, old) }
}

fn on_signal_stack(action: &libc::sigaction) -> libc::sigaction {
    let mut moved = *action;
    if !matches!(action.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) {
        moved.sa_flags |= libc::SA_ONSTACK;
        note_handlers(true);
    }
    moved
}

/// Notes that the program has handlers, if it has `any`: one of them may wake goroutines, so it is
/// no certain deadlock if all of these wait.
pub(super) fn note_handlers(any: bool) {
    if any {
        sched().ext.handlers.store(true, Ordering::Relaxed);
    }
}

/// `signal`, whose handlers have these flags, and block their own signal if `masks`.
///
/// # Safety
/// As the C library's.
#[inline(never)]
pub(super) unsafe fn signal(
    sig: c_int,
    handler: libc::sighandler_t,
    flags: c_int,
    masks: bool,
) -> libc::sighandler_t {
    // SAFETY: all zero is a valid action; the rest as the caller says.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut old = action;
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        if handler == libc::SIG_ERR || masks && libc::sigaddset(&mut action.sa_mask, sig) != 0 {
            *libc::__errno_location() = libc::EINVAL;
            return libc::SIG_ERR;
        }
        if sigaction(sig, &action, &mut old) < 0 { libc::SIG_ERR } else { old.sa_sigaction }
    }
}
