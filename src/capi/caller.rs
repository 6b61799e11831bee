//! Who calls from C, and with what. What a program mustn't do ends it, with a message that says so; the table
//! at the head of the header has all of it.

use crate::runtime::runtime2::{G, WaitReason};
use crate::runtime::{Guest, getg, guest, in_system_call, misuse, on_goroutine, started};

/// Ends the process unless the caller of `function` is a goroutine that could park: only one can do `what`.
#[inline(always)]
pub(super) fn need_goroutine(function: &str, what: &str) {
    if !on_goroutine() {
        wrong_caller(function, what)
    }
}

/// Lets the caller of `function` wait while the result lives: a thread that isn't the runtime's is made a goroutine.
/// Ends the process where nothing can wait.
#[inline(always)]
pub(super) fn must_wait(function: &str) -> Option<Guest> {
    if on_goroutine() { None } else { Some(become_goroutine(function, "wait")) }
}

/// Sees to it that the caller of `function` has a P, which timers are put on, while the result lives: as a goroutine
/// has, and the scheduler's stack, but not in `gosched_blocking`. Ends the process where there can be none.
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

/// Where `gosched_systemstack` goes on without a function.
#[unsafe(no_mangle)]
extern "C" fn gosched_systemstack_of_null() -> ! {
    null("gosched_systemstack", "fn")
}

/// Where `gosched_mcall` goes on without a function.
#[unsafe(no_mangle)]
extern "C" fn gosched_mcall_of_null() -> ! {
    null("gosched_mcall", "fn")
}

/// Where `gosched_gogo` goes on without a goroutine.
#[unsafe(no_mangle)]
extern "C" fn gosched_gogo_of_null() -> ! {
    null("gosched_gogo", "g")
}

/// What C has passed by its address. NULL ends the process.
///
/// # Safety
/// NULL, or the address of one, which stays as long as the result is used.
#[inline(always)]
pub(super) unsafe fn need<'a, T>(function: &str, argument: &str, address: *const T) -> &'a T {
    // SAFETY: the caller's.
    unsafe { address.as_ref() }.unwrap_or_else(|| null(function, argument))
}

/// The goroutine that C has passed. NULL ends the process.
///
/// # Safety
/// NULL, or a goroutine's address. G's are never freed.
#[inline(always)]
pub(super) unsafe fn need_g(function: &str, gp: *const G) -> &'static G {
    // SAFETY: the caller's.
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
