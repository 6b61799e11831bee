//! The signal mask and the signal stack of the caller, if that is a goroutine.

use std::cell::Cell;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;

use libc::{sigset_t, stack_t};

use crate::runtime::arch::stack_pointer;
use crate::runtime::data::runtime2::M;
use crate::runtime::m::left_signals::handle_unblocked;
use crate::runtime::m::sigmask::{Change, change_mask, mask_of_set};
use crate::runtime::m::sigstack::stack_of;
use crate::runtime::threads::record::this_goroutine;

/// `SS_AUTODISARM`: the kernel's `signal.h`.
const SS_AUTODISARM: c_int = 1 << 31;

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
    if in_handler(mp) {
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
    handle_unblocked(gp);
    Some(0)
}

/// Whether the caller is in a signal handler, on the signal stack of `mp`.
fn in_handler(mp: &M) -> bool {
    let stack = mp.ext.gsignal.stack.get();
    (stack.lo..stack.hi).contains(&stack_pointer())
}

thread_local! {
    /// The signal stack that the program has set for a goroutine.
    static STACK: Cell<Option<stack_t>> = const { Cell::new(None) };
}

/// Notes the signal stack of the caller, if that is a goroutine with thread-locals of its own. Its
/// handlers run on the signal stack of its M, whatever it sets. Returns the error of `sigaltstack`,
/// or 0; none for a thread of the system.
///
/// # Safety
/// As `sigaltstack`.
#[cold]
#[inline(never)]
pub(super) unsafe fn sigaltstack(new: *const stack_t, old: *mut stack_t) -> Option<c_int> {
    let (_, mp) = this_goroutine()?;
    // std makes a stack for a thread that has none.
    let mut former = STACK.get().unwrap_or_else(|| stack_of(mp.ext.gsignal.stack.get()));
    // SAFETY: null, or a stack, as the caller says.
    if let Some(&(mut new)) = unsafe { new.as_ref() } {
        if in_handler(mp) {
            return Some(libc::EPERM);
        }
        match new.ss_flags & !SS_AUTODISARM {
            libc::SS_DISABLE => new = stack_t { ss_sp: ptr::null_mut(), ss_size: 0, ..new },
            0 | libc::SS_ONSTACK if new.ss_size < libc::MINSIGSTKSZ => return Some(libc::ENOMEM),
            0 | libc::SS_ONSTACK => new.ss_flags &= !libc::SS_ONSTACK,
            _ => return Some(libc::EINVAL),
        }
        STACK.set(Some(new));
    }
    if in_handler(mp) {
        former.ss_flags |= libc::SS_ONSTACK;
    }
    if !old.is_null() {
        // SAFETY: a place for a stack, as the caller says.
        unsafe { old.write(former) };
    }
    Some(0)
}
