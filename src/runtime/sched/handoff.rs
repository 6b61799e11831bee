//! Hands a P from an M that can't use it to an M that can, or to a stopped world: Go's `handoffp`,
//! `stoplockedm`, `startlockedm` and `gcstopm`.

use std::sync::atomic::Ordering;

use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::nanotime;
use crate::runtime::data::runtime2::{G, GRUNNABLE, GSCAN, M, P, sched};
use crate::runtime::g::status::{dumpgstatus, readgstatus};
use crate::runtime::lock::note::notewakeup;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::checkdead::incidlelocked;
use crate::runtime::m::spinning::Spinning;
use crate::runtime::m::startm::{m_park, startm, stopm, take_nextp};
use crate::runtime::m::turn::{give_turn, need_before_queues, serve_turns, take_turn, turns_waiting};
use crate::runtime::p::owner::{pidleput, releasep};
use crate::runtime::p::procs::gomaxprocs;
use crate::runtime::p::runq::runqempty;
use crate::runtime::p::stop::{run_safe_point_fn_locked, stopped_for_another};
use crate::runtime::p::timer_heap::nobarrier_wake_time;
use crate::runtime::sched::detach::leave_m;
use crate::runtime::sched::poll::wake_net_poller;
use crate::runtime::sched::wake::pay_wakes;

/// Gives `pp` to another M if there is work, else makes it idle. Called without a P. Go's
/// `handoffp`.
pub(in crate::runtime) fn handoffp(pp: &'static P) {
    if need_before_queues() && hand_to_turn(pp) {
        return;
    }
    // If findRunnable would find a goroutine, an M must be started.
    if !runqempty(pp.steal()) || sched().runqsize.load(Ordering::Relaxed) != 0 {
        return startm(Some(pp), None);
    }
    if turns_waiting() {
        if timers_are_due(pp) {
            return startm(Some(pp), None);
        }
        if hand_to_turn(pp) {
            return;
        }
    }
    // No M is looking for work, and no P is idle that a submitter could wake. So an M with this P
    // has to look.
    if sched().nmspinning.load(Ordering::SeqCst) + sched().npidle.load(Ordering::SeqCst) == 0
        && let Some(spinning) = Spinning::first()
    {
        sched().needspinning.store(0, Ordering::SeqCst);
        return startm(Some(pp), Some(spinning));
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
        return startm(Some(pp), None);
    }
    // The last running P must not become idle while no M waits for the network.
    if sched().npidle.load(Ordering::SeqCst) == gomaxprocs() - 1
        && sched().lastpoll.load(Ordering::SeqCst) != 0
    {
        unlock(&sched().lock);
        return startm(Some(pp), None);
    }
    // Read for wake_net_poller, which can't be called with the lock held, because it may have to
    // wake a P.
    let when = nobarrier_wake_time(pp);
    pidleput(pp);
    serve_turns();
    unlock(&sched().lock);
    if when != 0 {
        wake_net_poller(when);
    }
}

/// Whether timers of `pp` are due, so that an M has to run them before a goroutine that keeps its
/// thread gets the P.
fn timers_are_due(pp: &P) -> bool {
    let when = nobarrier_wake_time(pp);
    when != 0 && when <= nanotime()
}

/// Gives `pp` to the M whose turn it is, if there is one.
fn hand_to_turn(pp: &'static P) -> bool {
    lock(&sched().lock);
    let stops = sched().gcwaiting.load(Ordering::SeqCst);
    let turn = if stops { None } else { take_turn() };
    if let Some(mp) = turn {
        run_safe_point_fn_locked(pp);
        give_turn(mp, pp);
    }
    unlock(&sched().lock);
    turn.is_some()
}

/// Gives this M's P to the M whose turn it is, and stops this M; false if there is none. Returns
/// with a P.
#[cold]
#[inline(never)]
pub(super) fn let_turn(mp: &'static M, pp: &'static P) -> bool {
    // Paid first: this may make a thread, which takes malloc's lock. An M that holds that lock can
    // be let go on only while it is on the list of turns.
    pay_wakes(mp);
    lock(&sched().lock);
    let turn = take_turn();
    unlock(&sched().lock);
    let Some(turn) = turn else { return false };
    if !std::ptr::eq(releasep(mp), pp) {
        throw("let_turn: wrong p");
    }
    give_turn(turn, pp);
    stopm(mp);
    true
}

/// Stops this M, to which a goroutine is locked, until that goroutine can run; returns
/// with a P. Go's `stoplockedm`.
pub(super) fn stoplockedm(mp: &'static M) {
    let Some(lockedg) = mp.lockedg.get() else { throw("stoplockedm: inconsistent locking") };
    if !lockedg.lockedm.get().is_some_and(|lockedm| std::ptr::eq(lockedm, mp)) {
        throw("stoplockedm: inconsistent locking");
    }
    if mp.ext.detached_since.load(Ordering::Relaxed) != 0 {
        // Perhaps no other M has taken its old P yet.
        leave_m(mp);
    }
    if !mp.p.is_null() {
        // Its P goes to one M, but there may be work for several.
        pay_wakes(mp);
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

/// Stops this M because the world is to be stopped; returns with a P when it runs again. Go's
/// `gcstopm`.
pub(super) fn gcstopm(mp: &'static M) {
    if !sched().gcwaiting.load(Ordering::SeqCst) {
        throw("gcstopm: not waiting for gc");
    }
    if !mp.preemptoff.get().is_null() {
        throw("gcstopm: a goroutine parks while the world is stopped, by itself");
    }
    if mp.spinning.get() {
        mp.stop_spinning();
    }
    let pp = releasep(mp);
    lock(&sched().lock);
    stopped_for_another(pp);
    unlock(&sched().lock);
    stopm(mp);
}
