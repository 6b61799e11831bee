//! Which M has which P, and the list of P's that no M has: Go's `acquirep`, `wirep`, `releasep`,
//! `pidleput`, `pidleget`, `pidlegetSpinning` and `updateTimerPMask`.

use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::nanotime;
use crate::runtime::base::print::eprintln;
use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::runtime2::{M, P, PIDLE, PRUNNING, sched};
use crate::runtime::embed::hooks::hooks;
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::g::explored::exploring;
use crate::runtime::lock::{assert_lock_held, lock, unlock};
use crate::runtime::p::procs::procs;
use crate::runtime::p::runq::runqempty;
use crate::runtime::p::sysmon_sleep::wake_sysmon;

/// Gives `pp` to `mp`, this thread's M. Go's `acquirep`.
pub(in crate::runtime) fn acquirep(mp: &'static M, pp: &'static P) {
    wirep(mp, pp);
    trace(|| Event::ProcStart(pp));
    if let Some(acquirep) = hooks().acquirep {
        acquirep(pp);
    }
}

/// Links `pp` and `mp`. Go's `wirep`.
pub(in crate::runtime) fn wirep(mp: &'static M, pp: &'static P) {
    if !mp.p.is_null() {
        throw("wirep: already in go");
    }
    if !pp.m.is_null() || pp.status.load(Ordering::Relaxed) != PIDLE {
        eprintln!("wirep: p->m={:?} p->status={}", pp.m, pp.status.load(Ordering::Relaxed));
        throw("wirep: invalid p state");
    }
    mp.p.set(Some(pp));
    pp.ext.oldm.set(Some(mp));
    // Release pairs with preemptone: a thread that finds the M here finds the M's thread, too.
    pp.m.store(Some(mp), Ordering::Release);
    pp.status.store(PRUNNING, Ordering::Relaxed);
}

/// Begins a time slice on `pp`, the caller's P, though no goroutine begins to run.
pub(in crate::runtime) fn begin_slice(pp: &P) {
    pp.preempt.store(exploring(), Ordering::Relaxed);
    pp.schedtick.store(pp.schedtick.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// Takes the P from `mp`, this thread's M. Go's `releasep`.
pub(in crate::runtime) fn releasep(mp: &'static M) -> &'static P {
    let Some(pp) = mp.p() else { throw("releasep: invalid arg") };
    if !pp.m.get().is_some_and(|m| std::ptr::eq(m, mp)) || pp.status.load(Ordering::Relaxed) != PRUNNING {
        eprintln!("releasep: m={mp:p} p->m={:?} p->status={}", pp.m, pp.status.load(Ordering::Relaxed));
        throw("releasep: invalid p state");
    }
    trace(|| Event::ProcStop(pp));
    mp.p.set(None);
    pp.m.set(None);
    pp.status.store(PIDLE, Ordering::Relaxed);
    pp
}

/// Puts `pp`, which has no owner, on the idle list. `sched.lock` is held. Go's `pidleput`.
pub(in crate::runtime) fn pidleput(pp: &'static P) {
    assert_lock_held(&sched().lock);
    if !runqempty(pp.steal()) {
        throw("pidleput: P has non-empty run queue");
    }
    update_timer_p_mask(pp);
    procs().idlep_mask.set(pp.id.get());
    pp.link.set(sched().pidle.get());
    sched().pidle.set(Some(pp));
    // SeqCst: see `Schedt::npidle`.
    sched().npidle.fetch_add(1, Ordering::SeqCst);
    pp.limiter_event.store(nanotime() as u64, Ordering::Relaxed);
}

/// Takes a P from the idle list, for the caller to own. `sched.lock` is held. Go's `pidleget`.
pub(in crate::runtime) fn pidleget() -> Option<&'static P> {
    assert_lock_held(&sched().lock);
    let pp = sched().pidle.get()?;
    // The P may get a timer at any time now.
    procs().timerp_mask.set(pp.id.get());
    procs().idlep_mask.clear(pp.id.get());
    sched().pidle.set(pp.link.get());
    // SeqCst: see `Schedt::npidle`.
    sched().npidle.fetch_sub(1, Ordering::SeqCst);
    let since = pp.limiter_event.swap(0, Ordering::Relaxed);
    sched().idle_time.fetch_add(nanotime() - since as i64, Ordering::Relaxed);
    wake_sysmon();
    Some(pp)
}

/// [`pidleget`] for a caller that has found work. If there is no idle P, makes an M that is about
/// to let its P go look for work again. `sched.lock` is held. Go's `pidlegetSpinning`.
pub(in crate::runtime) fn pidleget_spinning() -> Option<&'static P> {
    let pp = pidleget();
    if pp.is_none() {
        // SeqCst: see `Schedt::needspinning`.
        sched().needspinning.store(1, Ordering::SeqCst);
    }
    pp
}

/// Takes `pp`, which is about to be idle, out of the set of P's that may have timers, if it has
/// none. A P that runs may get a timer at any time, and is always in the set. `sched.lock` is held.
/// Go's `updateTimerPMask`.
fn update_timer_p_mask(pp: &P) {
    // SeqCst: see `P::num_timers`.
    if pp.num_timers.load(Ordering::SeqCst) > 0 {
        return;
    }
    // Another thread may have taken a timer out and be about to put it back.
    lock(&pp.timers_lock);
    if pp.num_timers.load(Ordering::SeqCst) == 0 {
        procs().timerp_mask.clear(pp.id.get());
    }
    unlock(&pp.timers_lock);
}
