//! The state of a G, and how it changes: Go's `casgstatus` and its kin.
//!
//! A state is also a lock on the G's stack: the thread that makes a G running owns the stack, and a
//! scan that sets the scan bit holds up every change until it clears the bit.
//!
//! `casgstatus` also measures how long goroutines wait for a P, and for mutexes, because it sees
//! their states. It measures a sample. Go's `gTrackingPeriod`.

use std::sync::atomic::Ordering;

use crate::runtime::arch::{getg, procyield};
use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::{nanotime, osyield};
use crate::runtime::base::print::eprintln;
use crate::runtime::base::rand::cheaprandn;
use crate::runtime::base::this::with_room;
use crate::runtime::data::runtime2::{
    G, GCOPYSTACK, GDEAD, GPREEMPTED, GRUNNABLE, GRUNNING, GSCAN, GSCANPREEMPTED, GSYSCALL, GWAITING,
    WaitReason, sched,
};
use crate::runtime::lock::rank::{LockRank, acquire_lock_rank, release_lock_rank};

/// Returns the G's state. Go's `readgstatus`.
#[inline(always)]
pub(crate) fn readgstatus(gp: &G) -> u32 {
    // Acquire pairs with the CASes below.
    gp.atomicstatus.load(Ordering::Acquire)
}

/// Changes the G's state from `oldval` to `newval`, neither with the scan bit. Waits while a scan
/// holds the state. Go's `casgstatus`.
#[inline(always)]
pub(crate) fn casgstatus(gp: &G, oldval: u32, newval: u32) {
    casgstatus_untracked(gp, oldval, newval);
    // The G is still the caller's, so its state stays for now. A G that runs isn't tracked.
    if oldval == GRUNNING && newval != GDEAD || oldval == GDEAD && newval == GRUNNABLE {
        count_down(gp, oldval, newval);
    } else if oldval != GRUNNING && gp.tracking.get() {
        track(gp, oldval, newval);
    }
}

/// [`casgstatus`] that doesn't take the time, which would cost too much in a switch between
/// coroutines. (Go's `coroswitch_m` has a bare CAS there.) The G isn't tracked.
#[inline(always)]
pub(in crate::runtime) fn casgstatus_untracked(gp: &G, oldval: u32, newval: u32) {
    if (oldval | newval) & GSCAN != 0 || oldval == newval {
        throw("casgstatus: bad incoming values");
    }
    acquire_lock_rank(LockRank::GSCAN);
    release_lock_rank(LockRank::GSCAN);
    if oldval == GDEAD && readgstatus(gp) == GDEAD {
        // No scan wants a dead G, so only its owner changes its state. Release, as in the CAS.
        gp.atomicstatus.store(newval, Ordering::Release);
        return;
    }
    // SeqCst: see `G::atomicstatus`.
    if gp.atomicstatus.compare_exchange(oldval, newval, Ordering::SeqCst, Ordering::SeqCst).is_err() {
        casgstatus_slow(gp, oldval, newval);
    }
}

#[cold]
#[inline(never)]
fn casgstatus_slow(gp: &G, oldval: u32, newval: u32) {
    /// Nanoseconds to spin between yields.
    const YIELD_DELAY: i64 = 5_000;
    let mut next_yield = nanotime() + YIELD_DELAY;
    // SeqCst: see `G::atomicstatus`.
    while gp.atomicstatus.compare_exchange(oldval, newval, Ordering::SeqCst, Ordering::SeqCst).is_err() {
        let status = readgstatus(gp);
        if oldval == GWAITING && status == GRUNNABLE {
            throw("casgstatus: waiting for Gwaiting but is Grunnable");
        }
        if status != oldval && status & GSCAN == 0 {
            // Only the end of a scan is worth waiting for.
            dumpgstatus(gp);
            throw("casgstatus: the G is in another state");
        }
        if nanotime() < next_yield {
            for _ in 0..10 {
                if readgstatus(gp) == oldval {
                    break;
                }
                procyield(1);
            }
        } else {
            osyield();
            next_yield = nanotime() + YIELD_DELAY / 2;
        }
    }
}

/// Sets the scan bit if the state is `oldval`. Returns whether it was. Go's `castogscanstatus`.
pub(crate) fn castogscanstatus(gp: &G, oldval: u32, newval: u32) -> bool {
    if !matches!(oldval, GRUNNABLE | GRUNNING | GWAITING | GSYSCALL) || newval != oldval | GSCAN {
        throw("castogscanstatus: bad incoming values");
    }
    // SeqCst: see `G::atomicstatus`.
    let set = gp.atomicstatus.compare_exchange(oldval, newval, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    if set {
        acquire_lock_rank(LockRank::GSCAN);
    }
    set
}

/// Clears the scan bit, which the caller has set. Go's `casfrom_Gscanstatus`.
pub(crate) fn casfrom_gscanstatus(gp: &G, oldval: u32, newval: u32) {
    // SeqCst: see `G::atomicstatus`.
    let cleared = oldval & GSCAN != 0
        && newval == oldval & !GSCAN
        && gp.atomicstatus.compare_exchange(oldval, newval, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    if !cleared {
        eprintln!("runtime: casfrom_Gscanstatus gp={gp:p}, oldval={oldval:#x}, newval={newval:#x}");
        dumpgstatus(gp);
        throw("casfrom_Gscanstatus: gp->status is not in scan state");
    }
    release_lock_rank(LockRank::GSCAN);
}

/// Makes a running G preempted, with the scan bit set: no thread can claim the G before the bit is
/// cleared. Go's `casGToPreemptScan`.
pub(in crate::runtime) fn cas_g_to_preempt_scan(gp: &G, old: u32, new: u32) {
    if old != GRUNNING || new != GSCANPREEMPTED {
        throw("bad g transition");
    }
    acquire_lock_rank(LockRank::GSCAN);
    // The CAS fails while a suspension holds the scan bit, for the length of some stores. SeqCst:
    // see `G::atomicstatus`.
    while gp.atomicstatus.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_err() {
        procyield(1);
    }
}

/// Claims a preempted G: makes it waiting. Returns whether the caller did that; if so, the caller
/// has to make the G ready again. Go's `casGFromPreempted`.
pub(in crate::runtime) fn cas_g_from_preempted(gp: &G, old: u32, new: u32) -> bool {
    if old != GPREEMPTED || new != GWAITING {
        throw("bad g transition");
    }
    gp.waitreason.set(WaitReason::Preempted);
    // SeqCst: see `G::atomicstatus`.
    gp.atomicstatus.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

/// Makes the G waiting, and notes why. Go's `casGToWaiting`.
pub(crate) fn cas_g_to_waiting(gp: &G, old: u32, reason: WaitReason) {
    gp.waitreason.set(reason);
    casgstatus(gp, old, GWAITING);
}

/// Changes a G that has waited without leaving its M back to running.
pub(in crate::runtime) fn cas_g_from_waiting(gp: &G) {
    casgstatus(gp, GWAITING, GRUNNING);
    gp.waitsince.set(0);
}

/// [`proc::casgcopystack`](crate::proc::casgcopystack). Go's `casgcopystack`.
pub(crate) fn casgcopystack(gp: &G) -> u32 {
    loop {
        let old = readgstatus(gp) & !GSCAN;
        if old != GWAITING && old != GRUNNABLE {
            throw("copystack: bad status, not Gwaiting or Grunnable");
        }
        // A waiting G may become runnable at any time, so this can't wait for one particular state.
        // SeqCst: see `G::atomicstatus`.
        if gp.atomicstatus.compare_exchange(old, GCOPYSTACK, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            return old;
        }
    }
}

/// Prints the states of `gp` and of the caller. Go's `dumpgstatus`.
pub(in crate::runtime) fn dumpgstatus(gp: &G) {
    eprintln!("runtime:   gp: gp={gp:p}, goid={}, gp->atomicstatus={:#x}", gp.goid.get(), readgstatus(gp));
    if let Some(me) = getg() {
        eprintln!(
            "runtime: getg:  g={me:p}, goid={},  g->atomicstatus={:#x}",
            me.goid.get(),
            readgstatus(me)
        );
    }
}

/// On average, one in this many waits of a goroutine, from when it stops running or is made until
/// it runs, is measured. Go's `gTrackingPeriod` is 8, but here reading the clock takes half as long
/// as a switch.
const G_TRACKING_PERIOD: u8 = 128;

/// Returns the number of waits until one is measured. It is random, so that a goroutine in a loop
/// isn't always measured at the same step.
pub(in crate::runtime) fn next_turn() -> u8 {
    1 + cheaprandn(2 * u32::from(G_TRACKING_PERIOD) - 1) as u8
}

/// Counts a wait of a G, which the caller owns, and which stops running or is made. Begins to
/// measure if it is this wait's turn.
#[inline(always)]
fn count_down(gp: &G, oldval: u32, newval: u32) {
    let left = gp.tracking_seq.load(Ordering::Relaxed).wrapping_sub(1);
    gp.tracking_seq.store(left, Ordering::Relaxed);
    if left == 0 {
        begin_tracking(gp, oldval, newval);
    }
}

#[cold]
#[inline(never)]
fn begin_tracking(gp: &G, oldval: u32, newval: u32) {
    gp.tracking_seq.store(next_turn(), Ordering::Relaxed);
    gp.tracking.set(true);
    track(gp, oldval, newval);
}

/// Takes the time when a tracked G changes its state. Part of Go's `casgstatus`.
#[cold]
#[inline(never)]
fn track(gp: &G, oldval: u32, newval: u32) {
    let for_mutex = gp.waitreason.get().is_mutex_wait();
    let counts = |state| state == GRUNNABLE || state == GWAITING && for_mutex;
    // Reading the clock is most of the cost. The caller may be a goroutine that makes this one
    // ready, on a copying stack, which has no room for that.
    let now = if counts(oldval) || counts(newval) { with_room(nanotime) } else { 0 };
    let since = now - gp.tracking_stamp.get();
    match oldval {
        GRUNNABLE => gp.runnable_time.set(gp.runnable_time.get() + since),
        GWAITING if for_mutex => {
            let all = since * i64::from(G_TRACKING_PERIOD);
            sched().total_mutex_wait_time.fetch_add(all, Ordering::Relaxed);
        }
        _ => {}
    }
    gp.tracking_stamp.set(now);
    if newval == GRUNNING {
        gp.tracking.set(false);
        sched().time_to_run.record(gp.runnable_time.replace(0));
    }
}
