//! Whether the caller may park in a function of the C library's, and whether it may make others
//! ready there.

use std::mem::MaybeUninit;

use crate::runtime::arch::syscall::syscall;
use crate::runtime::arch::{getg, stack_pointer};
use crate::runtime::base::this::this_m;
use crate::runtime::data::runtime2::{G, Stack};
use crate::runtime::lock::foreign_locks;
use crate::runtime::sched::detach::in_user_code;
use crate::runtime::stdpark::live::live;

/// The running goroutine, if it may park here. None on a thread that isn't ours, which pays for one
/// look at a thread-local.
#[inline(always)]
pub(super) fn may_park() -> Option<&'static G> {
    let gp = getg()?;
    if live() { check(gp) } else { None }
}

/// Whether the caller is on a thread of ours, and waits park in this process: what a function of
/// the C library's looks at before anything else. It takes no registers that have to be saved.
#[inline(always)]
pub(super) fn may_have_to_park() -> bool {
    live() && getg().is_some()
}

fn check(gp: &'static G) -> Option<&'static G> {
    let mp = gp.m.get()?;
    // std keeps references to thread-locals across its waits, so they have to be the goroutine's. A
    // handler on the signal stack isn't on the goroutine's, nor is code that has made a stack of
    // its own, and that may have left a thread's state behind.
    let may = gp.ext.tp.get() != 0
        && gp.syscallsp.get() == 0
        && !gp.ext.system.get()
        && in_user_code(mp, gp)
        && is_on(gp.stack.get());
    may.then_some(gp)
}

/// Whether the caller is on this stack.
fn is_on(stack: Stack) -> bool {
    (stack.lo..stack.hi).contains(&stack_pointer())
}

/// Whether the caller may make goroutines ready, which takes locks of the runtime's: it holds none,
/// and hasn't interrupted code that holds one, or that is between two steps on g0.
pub(super) fn may_ready() -> bool {
    match this_m() {
        Some(mp) => mp.locks.get() == 0 && !is_on(mp.ext.gsignal.stack.get()),
        // In a handler it may have interrupted the allocator, which a new thread for the goroutine
        // needs.
        None => foreign_locks() == 0 && !on_signal_stack(),
    }
}

/// Whether the caller, on a thread that isn't ours, is on its signal stack.
fn on_signal_stack() -> bool {
    let mut stack = MaybeUninit::<libc::stack_t>::uninit();
    // SAFETY: the kernel fills `stack`, if it returns 0.
    unsafe {
        syscall!(SYS_sigaltstack, 0, stack.as_mut_ptr()) == 0
            && stack.assume_init().ss_flags & libc::SS_ONSTACK != 0
    }
}
