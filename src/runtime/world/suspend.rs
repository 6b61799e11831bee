//! Suspending one goroutine, and letting it go on: Go's `suspendG` and `resumeG`.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::arch::procyield;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::{nanotime, osyield};
use crate::runtime::base::this::this_m;
use crate::runtime::data::runtime2::{
    G, GCOPYSTACK, GDEAD, GIDLE, GPREEMPTED, GRUNNABLE, GRUNNING, GSCAN, GSCANRUNNABLE, GSCANRUNNING,
    GSCANSYSCALL, GSCANWAITING, GSYSCALL, GWAITING,
};
use crate::runtime::g::status::{
    cas_g_from_preempted, casfrom_gscanstatus, castogscanstatus, dumpgstatus, readgstatus,
};
use crate::runtime::m::turn::let_one_go;
use crate::runtime::mem::sizes::running_guard;
use crate::runtime::preempt::ask::{fail_stack_checks, preempt_m};
use crate::runtime::sched::abort::end_wait_if_marked;
use crate::runtime::sched::ready::ready;

/// The result of [`suspend_g`](crate::proc::suspend_g). Go's `suspendGState`.
#[derive(Debug)]
#[must_use = "a suspended goroutine waits for resume_g"]
pub struct SuspendGState {
    /// The goroutine that is suspended; null if it is dead.
    pub g: *mut G,
    /// The goroutine had ended. Its G may be another goroutine by now.
    pub dead: bool,
    /// The goroutine was running, and [`resume_g`](crate::proc::resume_g) makes it ready.
    pub stopped: bool,
}

/// Stops `gp` at a safe point and keeps it there. Go's `suspendG`.
pub(crate) fn suspend_g(gp: &'static G) -> SuspendGState {
    let Some(state) = suspend_g_until(gp, i64::MAX) else { throw("suspendG: the end of time") };
    state
}

/// [`suspend_g`] that gives up when the monotonic clock is at `limit`, because a goroutine that
/// runs code without checks may not stop for a long time.
pub(in crate::runtime) fn suspend_g_until(gp: &'static G, limit: i64) -> Option<SuspendGState> {
    let mp = this_m();
    if mp.and_then(|mp| mp.curg.get()).is_some_and(|curg| readgstatus(curg) == GRUNNING) {
        // Two goroutines that suspend each other would wait forever.
        throw("suspendG from non-preemptible goroutine");
    }
    /// How long to spin between yields, in nanoseconds.
    const YIELD_DELAY: i64 = 10_000;
    let mut stopped = false;
    let mut next_yield = nanotime() + YIELD_DELAY;
    let mut next_ask = 0;
    loop {
        let mut status = readgstatus(gp);
        if status == GPREEMPTED && cas_g_from_preempted(gp, GPREEMPTED, GWAITING) {
            stopped = true;
            status = GWAITING;
        }
        match status {
            // GIDLE: the goroutine has ended, too, and its page went back to the kernel.
            GDEAD | GIDLE => return Some(SuspendGState { g: ptr::null_mut(), dead: true, stopped: false }),
            GRUNNABLE | GSYSCALL | GWAITING => {
                if castogscanstatus(gp, status, status | GSCAN) {
                    // No other suspension asks for anything while the scan bit is set.
                    gp.preempt_stop.store(false, Ordering::Relaxed);
                    gp.preempt.store(false, Ordering::Relaxed);
                    gp.stackguard0.store(running_guard(gp), Ordering::Relaxed);
                    return Some(SuspendGState { g: gp.as_ptr(), dead: false, stopped });
                }
            }
            GRUNNING if nanotime() >= limit => {
                if castogscanstatus(gp, GRUNNING, GSCANRUNNING) {
                    // If the request stops the goroutine all the same, `preempt_park` sees this and
                    // makes it ready.
                    gp.preempt_stop.store(false, Ordering::Relaxed);
                    casfrom_gscanstatus(gp, GSCANRUNNING, GRUNNING);
                    return None;
                }
            }
            // Go asks once. Here a request may get lost: see `poison_stack_limit`.
            GRUNNING if nanotime() >= next_ask => {
                next_ask = nanotime() + YIELD_DELAY / 2;
                ask_to_park(gp);
            }
            // The goroutine hasn't come to a safe point yet, or another thread has claimed it.
            GRUNNING | GCOPYSTACK | GPREEMPTED => {}
            _ if status & GSCAN != 0 => {} // another thread suspends it
            _ => {
                dumpgstatus(gp);
                throw("invalid g status");
            }
        }
        if nanotime() < next_yield {
            procyield(10);
        } else {
            osyield();
            next_yield = nanotime() + YIELD_DELAY / 2;
        }
    }
}

/// Asks a running goroutine to park, if it still runs.
fn ask_to_park(gp: &'static G) {
    // With the scan bit set, the goroutine stays on its M.
    if !castogscanstatus(gp, GRUNNING, GSCANRUNNING) {
        return;
    }
    let mp = gp.m.get();
    if let Some(mp) = mp {
        gp.preempt_stop.store(true, Ordering::Relaxed);
        fail_stack_checks(mp, gp);
    }
    casfrom_gscanstatus(gp, GSCANRUNNING, GRUNNING);
    if let Some(mp) = mp {
        // If the goroutine waits for its turn, it would wait as long as this M has its P.
        let_one_go(mp);
        preempt_m(mp);
    }
}

/// Lets a suspended goroutine go on. Go's `resumeG`.
pub(crate) fn resume_g(state: SuspendGState) {
    // SAFETY: null, or the G that suspend_g has suspended, whose page is never unmapped.
    let Some(gp) = (unsafe { state.g.as_ref::<'static>() }) else { return };
    match readgstatus(gp) {
        s @ (GSCANRUNNABLE | GSCANWAITING | GSCANSYSCALL) => {
            casfrom_gscanstatus(gp, s, s & !GSCAN);
            end_wait_if_marked(gp);
        }
        _ => {
            dumpgstatus(gp);
            throw("unexpected g status");
        }
    }
    if state.stopped {
        ready(gp, true);
    }
}
