//! Stopping goroutines that run: the part that is in `proc.go`. `preempt.rs` has the rest.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::arch::getg;
use crate::panic::throw;
use crate::proc::gosched::gosched_impl;
use crate::proc::m::getm;
use crate::proc::procs::procs;
use crate::proc::schedule::{dropg, schedule};
use crate::proc::status::{cas_g_to_preempt_scan, casfrom_gscanstatus, dumpgstatus, readgstatus};
use crate::runtime2::{G, GPREEMPTED, GRUNNING, GSCAN, GSCANPREEMPTED, M, P, PRUNNING};
use crate::signal::preempt_m;
use crate::stack::STACK_PREEMPT;
use crate::stack::limit::poison_stack_limit;

/// Asks every running goroutine to stop; says whether there is one. Best effort, as [`preemptone`].
/// Go's `preemptall`.
pub(crate) fn preemptall() -> bool {
    let mut any = false;
    for pp in &procs().allp {
        if pp.status.load(Ordering::Relaxed) == PRUNNING {
            any |= preemptone(pp);
        }
    }
    any
}

/// Asks the goroutine that runs on `pp` to stop; says whether there is one, other than the caller's.
///
/// Best effort: it may be another one by the time that it is asked, or none, and the request may get
/// lost. Who needs it asks again. Go's `preemptone`.
pub(crate) fn preemptone(pp: &P) -> bool {
    let mine = getg().and_then(|gp| gp.m.get());
    // Acquire pairs with wirep.
    let theirs = pp.m.load(Ordering::Acquire);
    let Some(mp) = theirs.filter(|mp| !mine.is_some_and(|mine| ptr::eq(*mp, mine))) else { return false };
    // Also if it is between two goroutines, as one that changes them all the time often is: its slice ends.
    pp.preempt.store(true, Ordering::Relaxed);
    let Some(gp) = mp.curg.get().filter(|gp| !ptr::eq(*gp, &mp.ext.g0)) else { return false };
    ask(mp, gp);
    preempt_m(mp);
    true
}

/// Makes the checks of `gp` fail, which runs on `mp`.
pub(crate) fn ask(mp: &M, gp: &G) {
    gp.preempt.store(true, Ordering::Relaxed);
    gp.stackguard0.store(STACK_PREEMPT, Ordering::Relaxed);
    poison_stack_limit(mp);
}

/// Lets other goroutines run in place of one that was asked to stop. Go's `gopreempt_m`.
///
/// # Safety
/// As [`gosched_impl`].
pub(crate) unsafe extern "C" fn gopreempt_m(gp: *mut G) -> ! {
    // The slice ends with this goroutine: who was to be next has its turn.
    if let Some(pp) = getm().p.get() {
        pp.preempt.store(false, Ordering::Relaxed);
    }
    // SAFETY: the caller's.
    unsafe { gosched_impl(&*gp) }
}

/// Stops a goroutine for whoever suspends it. Go's `preemptPark`.
///
/// # Safety
/// On g0, with a P, for the G that was running.
pub(crate) unsafe extern "C" fn preempt_park(gp: *mut G) -> ! {
    let mp = getm();
    // SAFETY: the caller's; G's are never freed.
    let gp: &'static G = unsafe { &*gp };
    if readgstatus(gp) & !GSCAN != GRUNNING {
        dumpgstatus(gp);
        throw("bad g status");
    }
    // As soon as it is preempted somebody may claim it and make it ready: not before it has left
    // its M. And it can't leave while it is running.
    cas_g_to_preempt_scan(gp, GRUNNING, GSCANPREEMPTED);
    dropg(mp, gp);
    casfrom_gscanstatus(gp, GSCANPREEMPTED, GPREEMPTED);
    // SAFETY: on g0 with a P.
    unsafe { schedule(mp) }
}
