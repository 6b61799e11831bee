//! A P goes from an M that can't use it to one that can: Go's `handoffp`, `stoplockedm`, `startlockedm`.

use std::sync::atomic::Ordering;

use crate::runtime::base::fatal::throw;
use crate::runtime::data::runtime2::{G, GRUNNABLE, GSCAN, M, P, sched};
use crate::runtime::g::status::{dumpgstatus, readgstatus};
use crate::runtime::lock::note::notewakeup;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::checkdead::incidlelocked;
use crate::runtime::m::spinning::Spinning;
use crate::runtime::m::startm::{m_park, startm, stopm, take_nextp};
use crate::runtime::p::acquire::releasep;
use crate::runtime::p::idle::pidleput;
use crate::runtime::p::procs::gomaxprocs;
use crate::runtime::p::runq::runqempty;
use crate::runtime::p::stop::{run_safe_point_fn_locked, stopped_for_another};
use crate::runtime::p::timers::run::nobarrier_wake_time;
use crate::runtime::sched::poll::wake_net_poller;

/// Gives `pp` to another M, if it has anything to do; else makes it idle. Called without a
/// P. Go's `handoffp`.
pub(in crate::runtime) fn handoffp(pp: &'static P) {
    // Where findRunnable would find something, an M must be started.
    if !runqempty(pp.steal()) || sched().runqsize.load(Ordering::Relaxed) != 0 {
        return startm(Some(pp), None, false);
    }
    // No M is looking for work, and no P is idle to be woken: an M with this P has to look.
    if sched().nmspinning.load(Ordering::SeqCst) + sched().npidle.load(Ordering::SeqCst) == 0
        && let Some(spinning) = Spinning::first()
    {
        sched().needspinning.store(0, Ordering::SeqCst);
        return startm(Some(pp), Some(spinning), false);
    }
    lock(&sched().lock);
    if sched().gcwaiting.load(Ordering::SeqCst) {
        stopped_for_another(pp);
        unlock(&sched().lock);
        return;
    }
    run_safe_point_fn_locked(pp);
    if sched().runqsize.load(Ordering::Relaxed) != 0 {
        unlock(&sched().lock);
        return startm(Some(pp), None, false);
    }
    // The last running P must not become idle while no M waits for the network.
    if sched().npidle.load(Ordering::SeqCst) == gomaxprocs() - 1
        && sched().lastpoll.load(Ordering::SeqCst) != 0
    {
        unlock(&sched().lock);
        return startm(Some(pp), None, false);
    }
    // For wake_net_poller, which may have to wake a P and so can't be called with the lock held.
    let when = nobarrier_wake_time(pp);
    pidleput(pp);
    unlock(&sched().lock);
    if when != 0 {
        wake_net_poller(when);
    }
}

/// Stops this M, to which a goroutine is locked, until that goroutine can run; returns
/// with a P. Go's `stoplockedm`.
pub(super) fn stoplockedm(mp: &'static M) {
    let Some(lockedg) = mp.lockedg.get() else { throw("stoplockedm: inconsistent locking") };
    if !lockedg.lockedm.get().is_some_and(|lockedm| std::ptr::eq(lockedm, mp)) {
        throw("stoplockedm: inconsistent locking");
    }
    if !mp.p.is_null() {
        handoffp(releasep(mp));
    }
    incidlelocked(1);
    m_park(mp);
    if readgstatus(lockedg) & !GSCAN != GRUNNABLE {
        dumpgstatus(lockedg);
        throw("stoplockedm: not runnable");
    }
    take_nextp(mp);
}

/// Wakes the M that `gp` is locked to, gives it this M's P, and stops this M. Go's
/// `startlockedm`.
pub(super) fn startlockedm(mp: &'static M, gp: &G) {
    let Some(lockedm) = gp.lockedm.get() else { throw("startlockedm: not locked") };
    if std::ptr::eq(lockedm, mp) {
        throw("startlockedm: locked to me");
    }
    if !lockedm.nextp.is_null() {
        throw("startlockedm: m has p");
    }
    incidlelocked(-1);
    lockedm.nextp.set(Some(releasep(mp)));
    notewakeup(&lockedm.park);
    stopm(mp);
}
