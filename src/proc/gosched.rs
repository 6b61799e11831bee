//! Giving up the P and coming back: Go's `Gosched`, `goyield`, `gopreempt_m` and `preemptPark`.

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
/// On a goroutine with a P; nothing obtained from a thread-local is kept across this.
#[inline(never)]
pub(crate) unsafe fn gosched() {
    let (gp, mp) = goroutine();
    wire_while_panicking(gp, mp);
    // SAFETY: on a goroutine, as goroutine() has checked; gosched_m puts it on the global queue.
    unsafe { mcall(gosched_m) }
}

/// [`gosched`] on g0. Go's `gosched_m`.
///
/// # Safety
/// [`mcall`] calls it, on an M with a P.
unsafe extern "C" fn gosched_m(gp: *mut G) -> ! {
    // SAFETY: on g0, with the G that mcall has just left; G's are never freed.
    unsafe { gosched_impl(&*gp, false) }
}

/// [`gosched`], if this goroutine was asked to stop, or no P is idle. Go's `goschedIfBusy`.
///
/// # Safety
/// As [`gosched`].
#[inline(never)]
pub(crate) unsafe fn gosched_if_busy() {
    let (gp, _) = goroutine();
    if gp.preempt.load(Ordering::Relaxed) || sched().npidle.load(Ordering::SeqCst) == 0 {
        // SAFETY: the caller keeps gosched's conditions, as ours are the same.
        unsafe { gosched() }
    }
}

/// [`gosched`], unless its M can't be preempted now: it holds a lock, say. Go's `goschedguarded`.
///
/// # Safety
/// As [`gosched`].
#[inline(never)]
pub(crate) unsafe fn goschedguarded() {
    let (gp, mp) = goroutine();
    wire_while_panicking(gp, mp);
    // SAFETY: on a goroutine, as goroutine() has checked; goschedguarded_m queues it, or resumes it.
    unsafe { mcall(goschedguarded_m) }
}

/// [`goschedguarded`] on g0. Go's `goschedguarded_m`.
///
/// # Safety
/// [`mcall`] calls it, on an M with a P.
unsafe extern "C" fn goschedguarded_m(gp: *mut G) -> ! {
    // SAFETY: mcall passes the G that called it, and G's are never freed.
    let gp: &'static G = unsafe { &*gp };
    if !can_preempt_m(getm()) {
        // SAFETY: on g0. mcall has just filled `sched`, and the G, still running, is this M's alone.
        unsafe { gogo(&gp.sched, gp.stackguard0.load(Ordering::Relaxed)) }
    }
    // SAFETY: on g0 of an M with a P, as the caller says, for the G that mcall has just left.
    unsafe { gosched_impl(gp, false) }
}

/// What [`gosched`] does on g0. Go's `goschedImpl`.
///
/// # Safety
/// On g0 of an M with a P; `gp` is its goroutine, which has just left its stack.
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
    // SAFETY: on g0 of an M with a P, as the caller says; dropg has taken its goroutine.
    unsafe { schedule(mp) }
}

/// How often a goroutine was preempted to let others run.
pub(crate) static PREEMPTIONS: AtomicU64 = AtomicU64::new(0);

/// Lets other goroutines run in place of one that was asked to stop. Go's `gopreempt_m`.
///
/// # Safety
/// As [`gosched_impl`].
pub(crate) unsafe extern "C" fn gopreempt_m(gp: *mut G) -> ! {
    PREEMPTIONS.fetch_add(1, Ordering::Relaxed);
    // The time slice ends with this goroutine: the one in runnext gets its turn.
    if let Some(pp) = getm().p.get() {
        pp.preempt.store(false, Ordering::Relaxed);
    }
    // SAFETY: ours are gosched_impl's conditions, which the caller keeps; G's are never freed.
    unsafe { gosched_impl(&*gp, true) }
}

/// Stops a goroutine for the thread that suspends it. Go's `preemptPark`.
///
/// # Safety
/// As [`gosched_impl`].
pub(crate) unsafe extern "C" fn preempt_park(gp: *mut G) -> ! {
    let mp = getm();
    // SAFETY: the goroutine that has just left its stack, as the caller says; G's are never freed.
    let gp: &'static G = unsafe { &*gp };
    if readgstatus(gp) & !GSCAN != GRUNNING {
        dumpgstatus(gp);
        throw("bad g status");
    }
    trace(|| Event::GoPark(gp, TraceBlockReason::Preempted));
    // Once the G is preempted, another thread may claim it and make it ready, and it must have left its
    // M by then. Nor can it leave while it is running. The scan bit is for the time in between.
    cas_g_to_preempt_scan(gp, GRUNNING, GSCANPREEMPTED);
    dropg(mp, gp);
    // While the bit is set, no thread can ask for a suspension.
    let still_wanted = gp.preempt_stop.load(Ordering::Relaxed);
    casfrom_gscanstatus(gp, GSCANPREEMPTED, GPREEMPTED);
    // The thread that asked may have given up since, and won't make the G ready. Go's never gives up.
    if !still_wanted && cas_g_from_preempted(gp, GPREEMPTED, GWAITING) {
        ready(gp, false);
    }
    // SAFETY: on g0 of an M with a P, as the caller says; dropg has taken its goroutine.
    unsafe { schedule(mp) }
}

/// [`gosched`], to the end of this P's queue. Go's `goyield`.
///
/// # Safety
/// As [`gosched`].
#[inline(never)]
pub(crate) unsafe fn goyield() {
    let (gp, mp) = goroutine();
    wire_while_panicking(gp, mp);
    // SAFETY: on a goroutine, as goroutine() has checked; goyield_m puts it on the P's queue.
    unsafe { mcall(goyield_m) }
}

/// [`goyield`] on g0. Go's `goyield_m`.
///
/// # Safety
/// [`mcall`] calls it, on an M with a P.
unsafe extern "C" fn goyield_m(gp: *mut G) -> ! {
    // SAFETY: mcall passes the G that called it, and G's are never freed.
    let gp: &'static G = unsafe { &*gp };
    let mp = getm();
    let Some(pp) = mp.p.get() else { throw("goyield: no p") };
    trace(|| Event::GoPreempt(gp));
    casgstatus(gp, GRUNNING, GRUNNABLE);
    dropg(mp, gp);
    runqput(pp, gp, false);
    // SAFETY: on g0 by mcall, with the P that was just found; dropg has taken the goroutine.
    unsafe { schedule(mp) }
}
