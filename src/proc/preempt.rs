//! Asking running goroutines to stop: the part that is in `proc.go`, `preemptall` and `preemptone`.
//! `crate::preempt` has the rest.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::proc::m::this_m;
use crate::proc::procs::procs;
use crate::runtime2::{G, M, P, PRUNNING};
use crate::signal_unix::preempt_m;
use crate::stack::STACK_PREEMPT;
use crate::stack::limit::poison_stack_limit;

/// Asks every running goroutine to stop; says whether any runs. Best effort, as [`preemptone`]. Go's
/// `preemptall`.
pub(crate) fn preemptall() -> bool {
    let mut any = false;
    for pp in &procs().allp {
        if pp.status.load(Ordering::Relaxed) == PRUNNING {
            any |= preemptone(pp);
        }
    }
    any
}

/// Asks the goroutine that runs on `pp` to stop; says whether one does, other than the caller's.
///
/// Best effort: another goroutine may run there by then, or none, and the request may get lost. A caller
/// that must have it stopped asks again. Go's `preemptone`.
pub(crate) fn preemptone(pp: &P) -> bool {
    let mine = this_m();
    // Acquire pairs with wirep.
    let theirs = pp.m.load(Ordering::Acquire);
    let Some(mp) = theirs.filter(|mp| !mine.is_some_and(|mine| ptr::eq(*mp, mine))) else { return false };
    // Also if the M is between two goroutines, as one that switches all the time often is: the slice ends.
    pp.preempt.store(true, Ordering::Relaxed);
    let Some(gp) = mp.curg.get().filter(|gp| !ptr::eq(*gp, &mp.ext.g0)) else { return false };
    ask(mp, gp);
    preempt_m(mp);
    true
}

/// Makes the stack checks of `gp`, which runs on `mp`, fail.
pub(crate) fn ask(mp: &M, gp: &G) {
    gp.preempt.store(true, Ordering::Relaxed);
    gp.stackguard0.store(STACK_PREEMPT, Ordering::Relaxed);
    poison_stack_limit(mp);
}
