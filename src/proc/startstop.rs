//! Starting and stopping M's as there is work: Go's `startm`, `stopm`, `handoffp` and their kin.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::lock::note::{noteclear, notesleep, notewakeup};
use crate::lock::{lock, unlock};
use crate::panic::throw;
use crate::print::eprintln;
use crate::proc::checkdead::incidlelocked;
use crate::proc::global::globrunqputbatch;
use crate::proc::idlem::{mget, mput};
use crate::proc::m::{acquirem, getm, m_reserve_id, mcount, newm, releasem, this_m};
use crate::proc::p::{acquirep, releasep};
use crate::proc::procs::gomaxprocs;
use crate::proc::runq::{runqdrain, runqempty};
use crate::proc::safepoint::run_safe_point_fn_locked;
use crate::proc::status::{dumpgstatus, readgstatus};
use crate::proc::stw::stopped_for_another;
use crate::proc::timers::wake_net_poller;
use crate::proc::wake::{pidleget, pidleput};
use crate::runtime2::{G, GRUNNABLE, GSCAN, M, P, sched};
use crate::time::run::nobarrier_wake_time;

/// Sleeps until this M is woken. Go's `mPark`.
fn m_park(mp: &M) {
    notesleep(&mp.park);
    noteclear(&mp.park);
}

/// Takes the P that the thread that woke this M has left for it.
fn take_nextp(mp: &'static M) {
    let Some(pp) = mp.nextp.get() else { throw("m woken without a p") };
    acquirep(mp, pp);
    mp.nextp.set(None);
}

/// Stops this M until there is work; returns with a P. Go's `stopm`.
pub(crate) fn stopm(mp: &'static M) {
    if mp.locks.get() != 0 {
        throw("stopm holding locks");
    }
    if !mp.p.is_null() {
        throw("stopm holding p");
    }
    if mp.spinning.get() {
        throw("stopm spinning");
    }
    lock(&sched().lock);
    mput(mp);
    unlock(&sched().lock);
    m_park(mp);
    take_nextp(mp);
}

/// What a new M runs first if its maker has counted it as spinning. Go's `mspinning`.
fn mspinning() {
    getm().spinning.set(true);
}

/// Gets some M to run `pp`, or an idle P, if there is one, where `pp` is none; makes an M
/// if all are busy. If `spinning`, the caller has counted that M in `nmspinning`. If
/// `lockheld`, the caller holds `sched.lock`, which may be dropped in between. Go's
/// `startm`.
pub(crate) fn startm(pp: Option<&'static P>, spinning: bool, lockheld: bool) {
    let mp = acquirem();
    if !lockheld {
        lock(&sched().lock);
    }
    let pp = match pp {
        Some(pp) => Some(pp),
        None if spinning => throw("startm: P required for spinning=true"),
        None => pidleget(),
    };
    let Some(pp) = pp else {
        if !lockheld {
            unlock(&sched().lock);
        }
        releasem(mp);
        return;
    };
    let Some(nmp) = mget() else {
        // The new M gets its number now, and so counts as running while the lock is
        // dropped: else checkdead could find work and no M to do it.
        let id = m_reserve_id();
        unlock(&sched().lock);
        let made = newm(if spinning { Some(mspinning) } else { None }, Some(pp), id);
        if let Err(error) = made {
            no_thread(pp, spinning, &error);
        }
        if lockheld {
            lock(&sched().lock);
        }
        releasem(mp);
        return;
    };
    if !lockheld {
        unlock(&sched().lock);
    }
    if nmp.spinning.get() {
        throw("startm: m is spinning");
    }
    if !nmp.nextp.is_null() {
        throw("startm: m has p");
    }
    if spinning && !runqempty(pp) {
        throw("startm: p has runnable gs");
    }
    nmp.spinning.set(spinning);
    nmp.nextp.set(Some(pp));
    notewakeup(&nmp.park);
    releasem(mp);
}

/// No thread could be made to run `pp`: the P goes back to the idle list, and its work to
/// the global queue, for the M's that there are. If there is no M, the process ends.
#[cold]
pub(crate) fn no_thread(pp: &'static P, spinning: bool, error: &io::Error) {
    static SAID: AtomicBool = AtomicBool::new(false);
    lock(&sched().lock);
    if spinning && sched().nmspinning.fetch_sub(1, Ordering::SeqCst) <= 0 {
        throw("startm: negative nmspinning");
    }
    let (q, n) = runqdrain(pp);
    globrunqputbatch(&q, n);
    if sched().gcwaiting.load(Ordering::SeqCst) {
        stopped_for_another(pp);
    } else {
        pidleput(pp);
    }
    // An M that holds no P is about to stop (handoffp), and won't do the work either.
    let mp = this_m();
    let stopping = mp.is_some_and(|mp| mp.p.is_null() && !mp.ext.system.get());
    let running = mcount() - sched().nmidlelocked.get() - sched().nmsys.get() - i32::from(stopping);
    unlock(&sched().lock);
    if running <= 0 {
        eprintln!("runtime: failed to create a new OS thread (have {} already): {error}", mcount());
        throw("newosproc");
    }
    if !SAID.swap(true, Ordering::Relaxed) {
        eprintln!(
            "gosched: a thread can't be made ({error}): going on with {running}, fewer than GOMAXPROCS asks for"
        );
    }
}

/// Gives `pp` to another M, if it has anything to do; else makes it idle. Called without a
/// P. Go's `handoffp`.
pub(crate) fn handoffp(pp: &'static P) {
    // Where findRunnable would find something, an M must be started.
    if !runqempty(pp) || sched().runqsize.load(Ordering::Relaxed) != 0 {
        return startm(Some(pp), false, false);
    }
    // No M is looking for work, and no P is idle to be woken: an M with this P has to look.
    if sched().nmspinning.load(Ordering::SeqCst) + sched().npidle.load(Ordering::SeqCst) == 0
        && sched().nmspinning.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    {
        sched().needspinning.store(0, Ordering::SeqCst);
        return startm(Some(pp), true, false);
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
        return startm(Some(pp), false, false);
    }
    // The last running P must not become idle while no M waits for the network.
    if sched().npidle.load(Ordering::SeqCst) == gomaxprocs() - 1
        && sched().lastpoll.load(Ordering::SeqCst) != 0
    {
        unlock(&sched().lock);
        return startm(Some(pp), false, false);
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
pub(crate) fn stoplockedm(mp: &'static M) {
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
pub(crate) fn startlockedm(mp: &'static M, gp: &G) {
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
