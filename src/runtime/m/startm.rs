//! Giving a P to an M, and putting an M to sleep until it gets one: Go's `startm`, `stopm` and
//! `mPark`. And the list of idle M's, under `sched.lock`: `mput` and `mget`, and 1.27's
//! `mgetSpecific`.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::{acquirem, getm, releasem};
use crate::runtime::data::runtime2::{M, P, sched};
use crate::runtime::lock::note::{noteclear, notesleep, notewakeup};
use crate::runtime::lock::{assert_lock_held, lock, unlock};
use crate::runtime::m::checkdead::checkdead;
#[cfg(pthreads)]
use crate::runtime::m::sigmask::leave_signals;
use crate::runtime::m::spinning::Spinning;
use crate::runtime::m::thread::{m_reserve_id, newm, no_thread, wanted_p};
use crate::runtime::p::owner::{acquirep, pidleget};
use crate::runtime::p::runq::runqempty;

/// Whether sysmon has given a P to the last idle M, or to an M that it made.
static SPARE_WANTED: AtomicBool = AtomicBool::new(false);

/// Makes some M run `pp`. If `pp` is none, takes an idle P; if there is none, does nothing. Makes
/// an M if all are busy. The M gets the count `spinning`, if that is given. Go's `startm` can be
/// called with `sched.lock` held. This can't: a woken M wants the lock at once.
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
        // The new M gets its number now, and so counts as running while the lock is dropped.
        // Otherwise checkdead could find work and no M to do it.
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
    #[cfg(pthreads)]
    leave_signals(mp);
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

/// Makes an idle M, unless there is one. So the next time that sysmon takes a P, it needn't make a
/// thread: it could have to wait for a lock that a kept goroutine holds (`turn.rs`). Called on g0,
/// with a P.
#[cold]
fn make_spare() {
    lock(&sched().lock);
    let id = sched().midle.is_null().then(m_reserve_id);
    unlock(&sched().lock);
    if let Some(id) = id {
        // If no thread can be made, the next caller that needs one reports it.
        let _made = newm(Some(begin_idle), None, id);
    }
}

/// The function that the M of [`make_spare`] runs first.
fn begin_idle() {
    let mp = getm();
    mp.ext.system.set(false);
    stopm(mp);
}

/// Puts `mp` on the idle list, and checks for a deadlock. `sched.lock` is held. Go's
/// `mput`.
pub(in crate::runtime) fn mput(mp: &'static M) {
    assert_lock_held(&sched().lock);
    let head = sched().midle.get();
    mp.schedlink.set(head);
    mp.ext.idle.set(true);
    head.inspect(|head| head.ext.idle_before.set(Some(mp)));
    sched().midle.set(Some(mp));
    sched().nmidle.set(sched().nmidle.get() + 1);
    checkdead();
}

/// Takes an idle M, if there is one. `sched.lock` is held. Go's `mget`.
pub(in crate::runtime) fn mget() -> Option<&'static M> {
    assert_lock_held(&sched().lock);
    let mp = sched().midle.get()?;
    take_idle(mp);
    Some(mp)
}

/// Takes `mp` off the idle list. Returns none if `mp` isn't idle any more. `sched.lock` is held.
/// Go's `mgetSpecific`.
pub(in crate::runtime) fn mget_specific(mp: &'static M) -> Option<&'static M> {
    assert_lock_held(&sched().lock);
    if !mp.ext.idle.get() {
        return None;
    }
    take_idle(mp);
    Some(mp)
}

/// Takes `mp` off the idle list.
fn take_idle(mp: &M) {
    let (before, after) = (mp.ext.idle_before.get(), mp.schedlink.get());
    before.map_or(&sched().midle, |before| &before.schedlink).set(after);
    after.inspect(|after| after.ext.idle_before.set(before));
    mp.ext.idle_before.set(None);
    mp.ext.idle.set(false);
    sched().nmidle.set(sched().nmidle.get() - 1);
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::runtime::base::testing::zeroed;

    #[test]
    fn any_may_be_taken_and_the_last_one_is_first() {
        let ms: [&M; 5] = std::array::from_fn(|_| zeroed());
        lock(&sched().lock);
        // More M's than there are here, so that no deadlock is seen.
        let mnext = sched().mnext.replace(100);
        let gets = |got: Option<&M>, i: usize| assert!(got.is_some_and(|mp| ptr::eq(mp, ms[i])), "not {i}");
        ms.iter().for_each(|mp| mput(mp));
        for i in [2, 0, 4] {
            gets(mget_specific(ms[i]), i);
            assert!(mget_specific(ms[i]).is_none(), "{i} again");
        }
        assert_eq!(sched().nmidle.get(), 2);
        mput(ms[2]);
        [2, 3, 1].into_iter().for_each(|i| gets(mget(), i));
        assert!(mget().is_none() && mget_specific(ms[1]).is_none());
        assert_eq!(sched().nmidle.get(), 0);
        sched().mnext.set(mnext);
        unlock(&sched().lock);
    }
}
