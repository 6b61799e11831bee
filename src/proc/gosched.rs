//! Giving up the P and coming back.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::arch::{gogo, mcall};
use crate::lock::{lock_on, unlock_on};
use crate::panic::throw;
use crate::preempt::can_preempt_m;
use crate::proc::global::globrunqput;
use crate::proc::lockosthread::wire_while_panicking;
use crate::proc::m::getm;
use crate::proc::park::{goroutine, ready};
use crate::proc::runq::runqput;
use crate::proc::schedule::{dropg, schedule};
use crate::proc::status::{
    cas_g_from_preempted, cas_g_to_preempt_scan, casfrom_gscanstatus, casgstatus, dumpgstatus, readgstatus,
};
use crate::proc::trace::{Event, trace};
use crate::proc::wake::wakep;
use crate::runtime2::{
    G, GPREEMPTED, GRUNNABLE, GRUNNING, GSCAN, GSCANPREEMPTED, GWAITING, TraceBlockReason, sched,
};

/// Lets other goroutines run, and goes to the end of the global queue. Go's `Gosched`.
///
/// # Safety
/// On a goroutine.
#[inline(never)]
pub(crate) unsafe fn gosched() {
    let (gp, mp) = goroutine();
    wire_while_panicking(gp, mp);
    // SAFETY: on a goroutine; gosched_m puts it on a queue.
    unsafe { mcall(gosched_m) }
}

/// [`gosched`] on g0. Go's `gosched_m`.
///
/// # Safety
/// [`mcall`] calls it.
unsafe extern "C" fn gosched_m(gp: *mut G) -> ! {
    // SAFETY: mcall passes the G that called it.
    unsafe { gosched_impl(&*gp, false) }
}

/// [`gosched`], if somebody wants this goroutine to stop, or no P is idle. Go's `goschedIfBusy`.
///
/// # Safety
/// On a goroutine.
#[inline(never)]
pub(crate) unsafe fn gosched_if_busy() {
    let (gp, _) = goroutine();
    if gp.preempt.load(Ordering::Relaxed) || sched().npidle.load(Ordering::SeqCst) == 0 {
        // SAFETY: the caller's.
        unsafe { gosched() }
    }
}

/// [`gosched`], unless this is no time for it. Go's `goschedguarded`.
///
/// # Safety
/// On a goroutine.
#[inline(never)]
pub(crate) unsafe fn goschedguarded() {
    let (gp, mp) = goroutine();
    wire_while_panicking(gp, mp);
    // SAFETY: on a goroutine; goschedguarded_m puts it on a queue, or goes on.
    unsafe { mcall(goschedguarded_m) }
}

/// [`goschedguarded`] on g0. Go's `goschedguarded_m`.
///
/// # Safety
/// [`mcall`] calls it.
unsafe extern "C" fn goschedguarded_m(gp: *mut G) -> ! {
    // SAFETY: mcall passes the G that called it.
    let gp: &'static G = unsafe { &*gp };
    if !can_preempt_m(getm()) {
        // SAFETY: it has just left, and nobody else has it.
        unsafe { gogo(&gp.sched, gp.stackguard0.load(Ordering::Relaxed)) }
    }
    // SAFETY: on g0 with a P, for the G that was running.
    unsafe { gosched_impl(gp, false) }
}

/// What [`gosched`] does on g0. Go's `goschedImpl`.
///
/// # Safety
/// On g0, with a P, for the G that was running.
#[inline(always)]
pub(crate) unsafe fn gosched_impl(gp: &'static G, preempted: bool) -> ! {
    let mp = getm();
    trace(|| if preempted { Event::GoPreempt(gp) } else { Event::GoSched(gp) });
    casgstatus(gp, GRUNNING, GRUNNABLE);
    dropg(mp, gp);
    lock_on(Some(mp), &sched().lock);
    globrunqput(gp);
    unlock_on(Some(mp), &sched().lock);
    wakep();
    // SAFETY: on g0 with a P.
    unsafe { schedule(mp) }
}

/// How often a goroutine was stopped to let others run.
pub(crate) static PREEMPTIONS: AtomicU64 = AtomicU64::new(0);

/// Lets other goroutines run in place of one that was asked to stop. Go's `gopreempt_m`.
///
/// # Safety
/// As [`gosched_impl`].
pub(crate) unsafe extern "C" fn gopreempt_m(gp: *mut G) -> ! {
    PREEMPTIONS.fetch_add(1, Ordering::Relaxed);
    // The slice ends with this goroutine: who was to be next has its turn.
    if let Some(pp) = getm().p.get() {
        pp.preempt.store(false, Ordering::Relaxed);
    }
    // SAFETY: the caller's.
    unsafe { gosched_impl(&*gp, true) }
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
    trace(|| Event::GoPark(gp, TraceBlockReason::Preempted));
    // As soon as it is preempted somebody may claim it and make it ready: not before it has left
    // its M. And it can't leave while it is running.
    cas_g_to_preempt_scan(gp, GRUNNING, GSCANPREEMPTED);
    dropg(mp, gp);
    // Nobody can ask while the bit is set.
    let still_wanted = gp.preempt_stop.load(Ordering::Relaxed);
    casfrom_gscanstatus(gp, GSCANPREEMPTED, GPREEMPTED);
    // Who has asked may have given up since. Go's never does.
    if !still_wanted && cas_g_from_preempted(gp, GPREEMPTED, GWAITING) {
        ready(gp, false);
    }
    // SAFETY: on g0 with a P.
    unsafe { schedule(mp) }
}

/// [`gosched`], to the end of this P's queue. Go's `goyield`.
///
/// # Safety
/// On a goroutine.
#[inline(never)]
pub(crate) unsafe fn goyield() {
    let (gp, mp) = goroutine();
    wire_while_panicking(gp, mp);
    // SAFETY: on a goroutine; goyield_m puts it on a queue.
    unsafe { mcall(goyield_m) }
}

/// [`goyield`] on g0. Go's `goyield_m`.
///
/// # Safety
/// [`mcall`] calls it.
unsafe extern "C" fn goyield_m(gp: *mut G) -> ! {
    // SAFETY: mcall passes the G that called it.
    let gp: &'static G = unsafe { &*gp };
    let mp = getm();
    let Some(pp) = mp.p.get() else { throw("goyield: no p") };
    trace(|| Event::GoPreempt(gp));
    casgstatus(gp, GRUNNING, GRUNNABLE);
    dropg(mp, gp);
    runqput(pp, gp, false);
    // SAFETY: on g0 with a P.
    unsafe { schedule(mp) }
}
