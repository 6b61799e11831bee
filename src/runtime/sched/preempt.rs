//! A goroutine that was asked to stop leaves its M: Go's `asyncPreempt2`, `gopreempt_m`,
//! `preemptPark`.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::getm;
use crate::runtime::data::runtime2::{
    G, GPREEMPTED, GRUNNING, GSCAN, GSCANPREEMPTED, GWAITING, M, TraceBlockReason,
};
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::g::explored::exploring;
use crate::runtime::g::status::{
    cas_g_from_preempted, cas_g_to_preempt_scan, casfrom_gscanstatus, dumpgstatus, readgstatus,
};
use crate::runtime::m::lockosthread::wire_while_panicking;
use crate::runtime::m::turn::turn_needed;
use crate::runtime::preempt::xregs::x_reg_save;
use crate::runtime::sched::gosched::gosched_impl;
use crate::runtime::sched::ready::ready;
use crate::runtime::sched::schedule::{dropg, schedule};

/// How often a goroutine was preempted to let others run.
pub(in crate::runtime) static PREEMPTIONS: AtomicU64 = AtomicU64::new(0);

/// The function that assembly calls to leave a goroutine that it has saved, as mcall calls its
/// function.
pub(in crate::runtime) type Leave = unsafe extern "C" fn(*mut G) -> !;

/// Prepares this M's goroutine, which `gosched_async_preempt` has saved, to be left; its vector
/// registers are at `regs`. On g0. Go's `asyncPreempt2`.
#[unsafe(no_mangle)]
extern "C" fn gosched_async_preempt2(regs: *const u8) -> Option<Leave> {
    let mp = getm();
    let Some(gp) = mp.curg.get() else { throw("asyncPreempt2 on no goroutine") };
    // Nobody may shrink its stack now. x_reg_restore clears this when the goroutine goes on.
    gp.async_safe_point.set(true);
    let leave = stop_here(mp, gp, regs);
    gp.async_safe_point.set(leave.is_some());
    leave
}

/// Prepares `gp`, which this M runs and which may be preempted, to be left where it is: its vector
/// registers are at `regs`, and everything else is saved on its stack and in `sched`. None if it
/// must go on, because there is no memory for the registers. On g0.
pub(in crate::runtime) fn stop_here(mp: &'static M, gp: &'static G, regs: *const u8) -> Option<Leave> {
    if !x_reg_save(mp.p(), gp, regs) {
        return None;
    }
    wire_while_panicking(gp, mp);
    Some(if gp.preempt_stop.load(Ordering::Relaxed) { preempt_park } else { gopreempt_m })
}

/// Lets other goroutines run in place of one that was asked to stop. Go's `gopreempt_m`.
///
/// # Safety
/// As [`gosched_impl`].
unsafe extern "C" fn gopreempt_m(gp: *mut G) -> ! {
    PREEMPTIONS.fetch_add(1, Ordering::Relaxed);
    // The time slice ends with this goroutine: the one in runnext gets its turn, if nobody's comes
    // before.
    if let Some(pp) = getm().p().filter(|_| !turn_needed()) {
        pp.preempt.store(exploring(), Ordering::Relaxed);
    }
    // SAFETY: ours are gosched_impl's conditions, which the caller keeps; G's are never freed.
    unsafe { gosched_impl::<false>(&*gp, true) }
}

/// Stops a goroutine for the thread that suspends it. Go's `preemptPark`.
///
/// # Safety
/// As [`gosched_impl`].
unsafe extern "C" fn preempt_park(gp: *mut G) -> ! {
    let mp = getm();
    // SAFETY: the goroutine that has just left its stack, as the caller says; G's are never freed.
    let gp: &'static G = unsafe { &*gp };
    if readgstatus(gp) & !GSCAN != GRUNNING {
        dumpgstatus(gp);
        throw("bad g status");
    }
    // Once the G is preempted, another thread may claim it and make it ready, and it must have left
    // its M by then. Nor can it leave while it is running. The scan bit is for the time in between.
    cas_g_to_preempt_scan(gp, GRUNNING, GSCANPREEMPTED);
    dropg(mp, gp);
    // While the bit is set, so that nobody's unpark comes before it.
    trace(|| Event::GoPark(gp, TraceBlockReason::Preempted));
    // While the bit is set, no thread can ask for a suspension.
    let still_wanted = gp.preempt_stop.load(Ordering::Relaxed);
    casfrom_gscanstatus(gp, GSCANPREEMPTED, GPREEMPTED);
    // The thread that asked may have given up since, and won't make the G ready. Go's never gives
    // up.
    if !still_wanted && cas_g_from_preempted(gp, GPREEMPTED, GWAITING) {
        ready(gp, false);
    }
    // SAFETY: on g0, as the caller says; dropg has taken its goroutine.
    unsafe { schedule(mp) }
}
