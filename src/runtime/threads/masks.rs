//! The signal mask of the caller, if that is a goroutine, and waits for signals.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use libc::sigset_t;

use crate::runtime::arch::stack_pointer;
use crate::runtime::m::sigmask::{Change, change_mask, mask_of_set};
use crate::runtime::threads::record::this_goroutine;

/// Changes the mask of the caller, if that is a goroutine with thread-locals of its own. Returns
/// the result of `pthread_sigmask`; none for a thread of the system, and in a signal handler, whose
/// mask ends with it.
///
/// # Safety
/// As `pthread_sigmask`.
#[cold]
#[inline(never)]
pub(super) unsafe fn sigmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> Option<c_int> {
    let (gp, mp) = this_goroutine()?;
    let handlers = mp.ext.gsignal.stack.get();
    if (handlers.lo..handlers.hi).contains(&stack_pointer()) {
        return None;
    }
    let change = if set.is_null() {
        Change::Nothing
    } else {
        // SAFETY: a set, as the caller says.
        let mask = mask_of_set(MaybeUninit::new(unsafe { set.read() }));
        match how {
            libc::SIG_BLOCK => Change::Block(mask),
            libc::SIG_UNBLOCK => Change::Unblock(mask),
            libc::SIG_SETMASK => Change::Set(mask),
            _ => return Some(libc::EINVAL),
        }
    };
    let former = change_mask(gp, mp, change);
    if !old.is_null() {
        // SAFETY: a place for a set, as the caller says. All zero is a valid set, and the mask is
        // its first word.
        unsafe {
            old.write(MaybeUninit::zeroed().assume_init());
            old.cast::<u64>().write(former);
        }
    }
    Some(0)
}
