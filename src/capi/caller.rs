//! Checks of the caller and of the arguments of a C function. A misuse ends the process with a
//! message that names it; the table at the head of the header lists all of them.

use crate::runtime::runtime2::{G, WaitReason};
use crate::runtime::{Guest, getg, guest, in_system_call, misuse, on_goroutine, started};

/// Ends the process unless the caller of `function` is a goroutine that may park. `what` is the
/// action that only a goroutine can do.
#[inline(always)]
pub(super) fn need_goroutine(function: &str, what: &str) {
    if !on_goroutine() {
        wrong_caller(function, what)
    }
}

/// Lets the caller of `function` wait while the result lives: a thread that isn't the runtime's
/// becomes a goroutine. Ends the process where the caller can't wait.
#[inline(always)]
pub(super) fn must_wait(function: &str) -> Option<Guest> {
    if on_goroutine() { None } else { Some(become_goroutine(function, "wait")) }
}

/// Gives the caller of `function` a P, which timers are put on, while the result lives. A goroutine
/// and the scheduler's stack have a P already; code in `gosched_blocking` has none. Ends the
/// process where the caller can't get one.
#[inline(always)]
pub(super) fn must_have_p(function: &str) -> Option<Guest> {
    if getg().is_some() && !in_system_call() { None } else { Some(become_goroutine(function, "set a timer")) }
}

#[cold]
#[inline(never)]
fn become_goroutine(function: &str, what: &str) -> Guest {
    guest().unwrap_or_else(|| wrong_caller(function, what))
}

#[cold]
#[inline(never)]
fn wrong_caller(function: &str, what: &str) -> ! {
    let (place, instead) = match getg() {
        None if !started() => ("before gosched_run", "gosched_run makes the first"),
        None => ("on a thread that isn't a goroutine's", "gosched_newproc makes one"),
        Some(_) if in_system_call() => ("inside of gosched_blocking", "call it when that has returned"),
        Some(_) => ("on the scheduler's stack", "call it when gosched_systemstack or unlockf has returned"),
    };
    misuse(format_args!("{function} called {place}: only a goroutine can {what}; {instead}"))
}

/// Ends the process because an argument is NULL.
#[cold]
#[inline(never)]
pub(super) fn null(function: &str, argument: &str) -> ! {
    misuse(format_args!("{function}: {argument} is NULL"))
}

/// The code that `gosched_systemstack` jumps to if its function is NULL.
#[unsafe(no_mangle)]
extern "C" fn gosched_systemstack_of_null() -> ! {
    null("gosched_systemstack", "fn")
}

/// The code that `gosched_mcall` jumps to if its function is NULL.
#[unsafe(no_mangle)]
extern "C" fn gosched_mcall_of_null() -> ! {
    null("gosched_mcall", "fn")
}

/// The code that `gosched_gogo` jumps to if its goroutine is NULL.
#[unsafe(no_mangle)]
extern "C" fn gosched_gogo_of_null() -> ! {
    null("gosched_gogo", "g")
}

/// The value at an address that C has passed. NULL ends the process.
///
/// # Safety
/// `address` is NULL, or the address of a `T` that stays as long as the result is used.
#[inline(always)]
pub(super) unsafe fn need<'a, T>(function: &str, argument: &str, address: *const T) -> &'a T {
    // SAFETY: the caller says that `address` is NULL or the address of a `T` that stays.
    unsafe { address.as_ref() }.unwrap_or_else(|| null(function, argument))
}

/// The goroutine that C has passed. NULL ends the process.
///
/// # Safety
/// `gp` is NULL, or a goroutine's address. G's are never freed.
#[inline(always)]
pub(super) unsafe fn need_g(function: &str, gp: *const G) -> &'static G {
    // SAFETY: the caller says that `gp` is NULL or a goroutine's address, and G's are never freed.
    unsafe { need(function, "g", gp) }
}

/// The reason with this number. Another number ends the process.
#[inline(always)]
pub(super) fn wait_reason(function: &str, reason: u32) -> WaitReason {
    match WaitReason::ALL.get(reason as usize) {
        Some(&known) => known,
        None => no_reason(function, reason),
    }
}

/// Ends the process because there is no reason with this number.
#[cold]
#[inline(never)]
pub(super) fn no_reason(function: &str, reason: u32) -> ! {
    misuse(format_args!("{function}: there is no reason {reason}"))
}
