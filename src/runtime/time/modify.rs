//! Starting, stopping and setting timers, on any P: Go's `addtimer`, `deltimer` and `modtimer`.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::osyield;
use crate::runtime::base::this::{acquirem, releasem};
use crate::runtime::data::runtime2::{M, P};
use crate::runtime::data::timer::{
    TIMER_DELETED, TIMER_MODIFIED_EARLIER, TIMER_MODIFIED_LATER, TIMER_MODIFYING, TIMER_MOVING,
    TIMER_NO_STATUS, TIMER_REMOVED, TIMER_REMOVING, TIMER_RUNNING, TIMER_WAITING, Timer, TimerFn,
};
use crate::runtime::explore::clock::timers_p;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::p::procs::procs;
use crate::runtime::p::timer::bad_timer;
use crate::runtime::p::timer_heap::{cleantimers, doaddtimer};
use crate::runtime::sched::poll::wake_net_poller;

/// Throws unless a timer can fire at `when`, and then every `period`.
fn check_times(when: i64, period: i64) {
    if when <= 0 {
        // 0 stands for no time, and no timer is due before that.
        throw("timer when must be positive");
    }
    if period < 0 {
        throw("timer period must be non-negative");
    }
}

/// Returns the P of `mp`, which acquirem keeps there. For a goroutine that has lost its P, returns
/// the first P, which is never destroyed, and may be idle. In an exploration, returns the P of its
/// clock.
fn held_p(mp: Option<&'static M>) -> &'static P {
    if let Some(clock) = timers_p() {
        return clock;
    }
    let pp = mp.and_then(|mp| mp.p());
    pp.unwrap_or_else(|| match mp {
        Some(mp) if mp.ext.detached_since.load(Ordering::Relaxed) != 0 => procs().allp[0],
        _ => throw("timer started without a P"),
    })
}

/// Puts a timer into the heap of `pp`, whose lock is held. `pp` is the P that [`held_p`] has
/// returned.
fn put_timer(mp: Option<&'static M>, pp: &'static P, t: &'static Timer) {
    doaddtimer(pp, t);
    if mp.is_some_and(|mp| mp.p.is_null()) {
        // The P may be idle, and be missing from the set of P's that may have timers. The heap's
        // lock is held: see update_timer_p_mask.
        procs().timerp_mask.set(pp.id.get());
    }
}

/// Adds a timer that has never been started to this P's heap. Go's `addtimer`.
pub(crate) fn addtimer(t: &'static Timer) {
    check_times(t.when.get(), t.period.get());
    if !t.cas(TIMER_NO_STATUS, TIMER_WAITING) {
        throw("addtimer called with initialized timer");
    }
    let when = t.when.get();
    let mp = acquirem();
    let pp = held_p(mp);
    lock(&pp.timers_lock);
    cleantimers(pp);
    put_timer(mp, pp, t);
    unlock(&pp.timers_lock);
    wake_net_poller(when);
    releasem(mp);
}

/// Marks a timer as deleted. It may be in another P's heap, and the next thread that works on that
/// heap takes it out. Returns whether the timer was active, and so won't fire. Go's `deltimer`.
pub(crate) fn deltimer(t: &'static Timer) -> bool {
    loop {
        match t.status.load(Ordering::Acquire) {
            s @ (TIMER_WAITING | TIMER_MODIFIED_LATER | TIMER_MODIFIED_EARLIER) => {
                // Not preempted in MODIFYING, because other threads spin until that state ends.
                let mp = acquirem();
                if t.cas(s, TIMER_MODIFYING) {
                    // Read while the timer is ours: once it is deleted, another thread may take it
                    // out.
                    let tpp = t.pp.get().unwrap_or_else(|| bad_timer());
                    t.settle(TIMER_MODIFYING, TIMER_DELETED);
                    // SeqCst: see `P::deleted_timers`.
                    tpp.deleted_timers.fetch_add(1, Ordering::SeqCst);
                    releasem(mp);
                    return true;
                }
                releasem(mp);
            }
            TIMER_NO_STATUS | TIMER_DELETED | TIMER_REMOVING | TIMER_REMOVED => return false,
            TIMER_RUNNING | TIMER_MOVING | TIMER_MODIFYING => osyield(),
            _ => bad_timer(),
        }
    }
}

/// Sets all values of a timer, whatever its state. Returns whether it was active. Go's `modtimer`.
pub(crate) fn modtimer(
    t: &'static Timer,
    when: i64,
    period: i64,
    f: Option<TimerFn>,
    arg: *mut c_void,
    seq: usize,
) -> bool {
    check_times(when, period);
    let (mp, status) = loop {
        match t.status.load(Ordering::Acquire) {
            s @ (TIMER_WAITING
            | TIMER_MODIFIED_EARLIER
            | TIMER_MODIFIED_LATER
            | TIMER_NO_STATUS
            | TIMER_REMOVED
            | TIMER_DELETED) => {
                let mp = acquirem();
                if t.cas(s, TIMER_MODIFYING) {
                    break (mp, s);
                }
                releasem(mp);
            }
            TIMER_RUNNING | TIMER_REMOVING | TIMER_MOVING | TIMER_MODIFYING => osyield(),
            _ => bad_timer(),
        }
    };
    t.period.set(period);
    t.f.set(f);
    t.arg.set(arg);
    t.seq.store(seq, Ordering::Relaxed);

    if matches!(status, TIMER_NO_STATUS | TIMER_REMOVED) {
        // The timer is in no heap, so this does what addtimer does.
        t.when.set(when);
        let pp = held_p(mp);
        lock(&pp.timers_lock);
        put_timer(mp, pp, t);
        unlock(&pp.timers_lock);
        t.settle(TIMER_MODIFYING, TIMER_WAITING);
        releasem(mp);
        wake_net_poller(when);
        return false;
    }

    // The timer is in a heap, perhaps another P's. The heap would be out of order if `when` changed
    // now.
    let tpp = t.pp.get().unwrap_or_else(|| bad_timer());
    if status == TIMER_DELETED {
        // SeqCst: see `P::deleted_timers`.
        tpp.deleted_timers.fetch_sub(1, Ordering::SeqCst);
    }
    t.nextwhen.set(when);
    let earlier = when < t.when.get();
    if earlier {
        update_timer_modified_earliest(tpp, when);
    }
    t.settle(TIMER_MODIFYING, if earlier { TIMER_MODIFIED_EARLIER } else { TIMER_MODIFIED_LATER });
    releasem(mp);
    if earlier {
        wake_net_poller(when);
    }
    status != TIMER_DELETED
}

/// [`proc::reset_timer`](crate::proc::reset_timer) without the check of the stack. Go's
/// `resettimer`.
pub(crate) fn resettimer(t: &'static Timer, when: i64) -> bool {
    modtimer(t, when, t.period.get(), t.f.get(), t.arg.get(), t.seq.load(Ordering::Relaxed))
}

/// Notes that a timer of `pp` is to be moved to `nextwhen`, an earlier time. Needs no lock. Go's
/// `updateTimerModifiedEarliest`.
fn update_timer_modified_earliest(pp: &P, nextwhen: i64) {
    let earliest = &pp.timer_modified_earliest;
    let earlier = |old| (old == 0 || old >= nextwhen).then_some(nextwhen);
    // SeqCst pairs with adjusttimers, and with an M that goes to sleep: see wake_net_poller.
    let _ = earliest.fetch_update(Ordering::SeqCst, Ordering::SeqCst, earlier);
}
