//! Giving up the P and coming back.

use std::sync::atomic::Ordering;

use crate::arch::{gogo, mcall};
use crate::lock::note::check_timeouts;
use crate::lock::{lock_on, unlock_on};
use crate::panic::throw;
use crate::preempt::can_preempt_m;
use crate::proc::global::globrunqput;
use crate::proc::lockosthread::wire_while_panicking;
use crate::proc::m::getm;
use crate::proc::park::goroutine;
use crate::proc::runq::runqput;
use crate::proc::schedule::{dropg, schedule};
use crate::proc::status::casgstatus;
use crate::proc::wake::wakep;
use crate::runtime2::{G, GRUNNABLE, GRUNNING, sched};

/// Lets other goroutines run, and goes to the end of the global queue. Go's `Gosched`.
///
/// # Safety
/// On a goroutine.
#[inline(never)]
pub(crate) unsafe fn gosched() {
    check_timeouts();
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
    unsafe { gosched_impl(&*gp) }
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
    unsafe { gosched_impl(gp) }
}

/// What [`gosched`] does on g0. Go's `goschedImpl`.
///
/// # Safety
/// On g0, with a P, for the G that was running.
#[inline(always)]
pub(crate) unsafe fn gosched_impl(gp: &'static G) -> ! {
    let mp = getm();
    casgstatus(gp, GRUNNING, GRUNNABLE);
    dropg(mp, gp);
    lock_on(Some(mp), &sched().lock);
    globrunqput(gp);
    unlock_on(Some(mp), &sched().lock);
    wakep();
    // SAFETY: on g0 with a P.
    unsafe { schedule(mp) }
}

/// [`gosched`], to the end of this P's queue. Go's `goyield`.
///
/// # Safety
/// On a goroutine.
#[inline(never)]
pub(crate) unsafe fn goyield() {
    check_timeouts();
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
    casgstatus(gp, GRUNNING, GRUNNABLE);
    dropg(mp, gp);
    runqput(pp, gp, false);
    // SAFETY: on g0 with a P.
    unsafe { schedule(mp) }
}
