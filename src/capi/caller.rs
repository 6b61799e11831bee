//! Who calls from C, and with what. What a program mustn't do ends it, with a message that says so; the table
//! at the head of the header has all of it.

use crate::runtime::runtime2::{G, WaitReason};
use crate::runtime::{getg, in_system_call, misuse, on_goroutine, started};

/// Ends the process unless the caller of `function` is a goroutine that could park: only one can do `what`.
#[inline(always)]
pub(super) fn need_goroutine(function: &str, what: &str) {
    if !on_goroutine() {
        wrong_caller(function, what)
    }
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

/// Where `gosched_systemstack` goes on without a function.
#[unsafe(no_mangle)]
extern "C" fn gosched_systemstack_of_null() -> ! {
    null("gosched_systemstack", "fn")
}

/// The goroutine at an address that C has passed. NULL ends the process.
///
/// # Safety
/// NULL, or a goroutine's address. G's are never freed.
#[inline(always)]
pub(super) unsafe fn need_g(function: &str, gp: *mut G) -> &'static G {
    // SAFETY: the caller's.
    match unsafe { gp.as_ref() } {
        Some(gp) => gp,
        None => null(function, "g"),
    }
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
