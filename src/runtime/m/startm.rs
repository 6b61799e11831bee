//! An M gets a P to run, or sleeps until it does: Go's `startm`, `stopm` and `mPark`.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::{acquirem, getm, releasem};
use crate::runtime::data::runtime2::{M, P, sched};
use crate::runtime::lock::note::{noteclear, notesleep, notewakeup};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::count::m_reserve_id;
use crate::runtime::m::idle::{mget, mput};
use crate::runtime::m::new::newm;
use crate::runtime::m::no_thread::{no_thread, wanted_p};
use crate::runtime::m::spinning::Spinning;
use crate::runtime::p::owner::{acquirep, pidleget};
use crate::runtime::p::runq::runqempty;

/// Sysmon has given a P to the last M that was idle, or made one.
static SPARE_WANTED: AtomicBool = AtomicBool::new(false);

/// Sleeps until this M is woken. Go's `mPark`.
pub(in crate::runtime) fn m_park(mp: &M) {
    notesleep(&mp.park);
    noteclear(&mp.park);
}

/// Takes the P that the thread that woke or made this M has left for it.
pub(in crate::runtime) fn take_nextp(mp: &'static M) {
    let Some(pp) = mp.nextp.get() else { throw("m woken without a p") };
    acquirep(mp, pp);
    mp.nextp.set(None);
    if SPARE_WANTED.load(Ordering::Relaxed) && SPARE_WANTED.swap(false, Ordering::Relaxed) {
        make_spare();
    }
}

/// Stops this M until there is work; returns with a P. Go's `stopm`.
pub(in crate::runtime) fn stopm(mp: &'static M) {
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
    if let Some(pp) = wanted_p() {
        unlock(&sched().lock);
        acquirep(mp, pp);
        return;
    }
    mput(mp);
    unlock(&sched().lock);
    m_park(mp);
    take_nextp(mp);
}

/// Gets some M to run `pp`, or an idle P, if there is one, where `pp` is none; makes an M if all
/// are busy. That M gets `spinning`, if there is one. Go's `startm`, which can be called with
/// `sched.lock` held: but who is woken wants that at once.
pub(in crate::runtime) fn startm(pp: Option<&'static P>, spinning: Option<Spinning>) {
    let mp = acquirem();
    lock(&sched().lock);
    let pp = match pp {
        Some(pp) => Some(pp),
        None if spinning.is_some() => throw("startm: P required for spinning=true"),
        None => pidleget(),
    };
    let Some(pp) = pp else {
        unlock(&sched().lock);
        releasem(mp);
        return;
    };
    let nmp = mget();
    if sched().midle.is_null() && mp.is_some_and(|mp| mp.ext.system.get()) {
        SPARE_WANTED.store(true, Ordering::Relaxed);
    }
    let Some(nmp) = nmp else {
        // The new M gets its number now, and so counts as running while the lock is
        // dropped: else checkdead could find work and no M to do it.
        let id = m_reserve_id();
        unlock(&sched().lock);
        let made = newm(spinning.as_ref().map(Spinning::start), Some(pp), id);
        if let Err(error) = made {
            no_thread(pp, spinning, &error);
        }
        releasem(mp);
        return;
    };
    unlock(&sched().lock);
    if nmp.spinning.get() {
        throw("startm: m is spinning");
    }
    if !nmp.nextp.is_null() {
        throw("startm: m has p");
    }
    if let Some(spinning) = spinning {
        if !runqempty(pp.steal()) {
            throw("startm: p has runnable gs");
        }
        spinning.give(nmp);
    }
    nmp.nextp.set(Some(pp));
    notewakeup(&nmp.park);
    releasem(mp);
}

/// Makes an M that is idle, unless there is one: the next time that sysmon takes a P, it needn't
/// make a thread, which it could do only while no goroutine is kept (`turn.rs`). On g0, with a P.
#[cold]
fn make_spare() {
    lock(&sched().lock);
    let id = sched().midle.is_null().then(m_reserve_id);
    unlock(&sched().lock);
    if let Some(id) = id {
        // If there is no thread to be had, the next one who needs one says so.
        let _made = newm(Some(begin_idle), None, id);
    }
}

/// What the M of [`make_spare`] runs first.
fn begin_idle() {
    let mp = getm();
    mp.ext.system.set(false);
    stopm(mp);
}
