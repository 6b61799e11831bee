//! The scheduler's part in timers: running those that are due, and sleeping until the next one is. Go's
//! `checkTimers`, `wakeNetPoller` and the end of `findRunnable`.

use std::sync::atomic::Ordering;

use crate::lock::{lock, unlock};
use crate::netpoll::{netpoll, netpoll_adjust_waiters, netpoll_any_waiters, netpoll_break, netpollinited};
use crate::os::nanotime;
use crate::panic::throw;
use crate::proc::gqueue::GList;
use crate::proc::inject::injectglist;
use crate::proc::p::acquirep;
use crate::proc::procs::{Procs, procs};
use crate::proc::startstop::stopm;
use crate::proc::status::casgstatus;
use crate::proc::trace::{Event, trace};
use crate::proc::wake::{pidleget, wakep};
use crate::runtime2::{G, GRUNNABLE, GWAITING, M, P, sched};
use crate::time::adjust::{adjusttimers, clear_deleted_timers};
use crate::time::run::{nobarrier_wake_time, runtimer};

/// What [`check_timers`] knows.
pub(crate) struct Checked {
    /// The time, 0 if it wasn't needed.
    pub(crate) now: i64,
    /// When the next timer is due, 0 if there is none.
    pub(crate) poll_until: i64,
    /// Whether a timer has run.
    pub(crate) ran: bool,
}

/// Runs the timers of `pp` that are due, for `mp`, which has the P: in each round of the scheduler, so it
/// costs next to nothing where there are no timers.
#[inline(always)]
pub(crate) fn check_own_timers(mp: &M, pp: &'static P) {
    // A heap that isn't empty has a first timer, modified ones or not.
    if pp.timer0_when.load(Ordering::Relaxed) != 0 {
        check_timers(mp, pp, 0);
    }
}

/// Runs the timers of `pp` that are due. `now` is the time, or 0. `mp` is this thread's M. Go's
/// `checkTimers`.
#[inline(never)]
pub(crate) fn check_timers(mp: &M, pp: &'static P, now: i64) -> Checked {
    let next = nobarrier_wake_time(pp);
    if next == 0 {
        return Checked { now, poll_until: 0, ran: false };
    }
    let now = if now == 0 { nanotime() } else { now };
    // Only for its own P: less contention for the lock.
    let own = mp.p.get().is_some_and(|mine| std::ptr::eq(mine, pp));
    let many_deleted =
        || own && pp.deleted_timers.load(Ordering::Relaxed) > pp.num_timers.load(Ordering::Relaxed) / 4;
    if now < next && !many_deleted() {
        return Checked { now, poll_until: next, ran: false };
    }
    let mut ran = false;
    lock(&pp.timers_lock);
    if pp.timers.len.get() > 0 {
        adjusttimers(pp, now);
        while runtimer(pp, now) {
            ran = true;
        }
    }
    if many_deleted() {
        clear_deleted_timers(pp);
    }
    unlock(&pp.timers_lock);
    Checked { now, poll_until: nobarrier_wake_time(pp), ran }
}

/// The earlier of two times, where 0 is no time.
pub(crate) fn earlier(a: i64, b: i64) -> i64 {
    if a == 0 || (b != 0 && b < a) { b } else { a }
}

/// `poll_until`, or when a timer of any P is due, if that is earlier. For an M without a P. Go's
/// `checkTimersNoP`.
fn check_timers_no_p(procs: &Procs, poll_until: i64) -> i64 {
    let with_timers = procs.allp.iter().filter(|pp| procs.timerp_mask.read(pp.id.get()));
    with_timers.map(|pp| nobarrier_wake_time(pp)).fold(poll_until, earlier)
}

/// Takes `pp`, which is about to be idle, out of the set of P's that may have timers, if it has none. A P
/// that runs may get a timer at any time, and is always in the set. `sched.lock` is held. Go's
/// `updateTimerPMask`.
pub(crate) fn update_timer_p_mask(pp: &P) {
    if pp.num_timers.load(Ordering::SeqCst) > 0 {
        return;
    }
    // Another thread may have taken a timer out, and be about to put it back.
    lock(&pp.timers_lock);
    if pp.num_timers.load(Ordering::SeqCst) == 0 {
        procs().timerp_mask.clear(pp.id.get());
    }
    unlock(&pp.timers_lock);
}

/// For a timer that is due at `when`: ends the poll in progress, if that would last longer, or wakes a P,
/// if no M polls. Go's `wakeNetPoller`.
///
/// The timer is noted before this, and an M that goes to sleep looks for timers after it has stopped
/// spinning, and once more by way of `lastpoll`: all of them sequentially consistent, so one of the
/// two sees the other. `loom` checks it on this file (`tests/loom`).
pub(crate) fn wake_net_poller(when: i64) {
    if sched().lastpoll.load(Ordering::SeqCst) == 0 {
        // 0 until the poller has said how long it waits: then it may be woken in vain.
        let poller_poll_until = sched().poll_until.load(Ordering::SeqCst);
        if poller_poll_until == 0 || poller_poll_until > when {
            netpoll_break();
        }
    } else {
        wakep();
    }
}

/// Whether it makes sense to poll without waiting: a goroutine waits for the network, and no M waits in
/// the poller.
#[inline(always)]
pub(crate) fn worth_polling() -> bool {
    netpollinited() && netpoll_any_waiters() && sched().lastpoll.load(Ordering::SeqCst) != 0
}

/// Makes the goroutines that the network is ready for runnable, and says whether there were any; doesn't
/// wait.
pub(crate) fn inject_polled() -> bool {
    let (list, delta) = netpoll(0);
    let any = !list.empty();
    injectglist(&list);
    netpoll_adjust_waiters(delta);
    any
}

/// A goroutine that the network is ready for, if there is one; doesn't wait. Part of Go's `findRunnable`.
pub(crate) fn poll_now() -> Option<&'static G> {
    if !worth_polling() {
        return None;
    }
    let (list, delta) = netpoll(0);
    first_polled(&list, delta)
}

/// The first of the goroutines that [`netpoll`] has returned, to be run here; the others become runnable.
/// Part of Go's `findRunnable`.
fn first_polled(list: &GList, delta: i32) -> Option<&'static G> {
    let gp = list.pop()?;
    injectglist(list);
    netpoll_adjust_waiters(delta);
    casgstatus(gp, GWAITING, GRUNNABLE);
    trace(|| Event::GoUnpark(gp));
    Some(gp)
}

/// Waits until there is something to do, for an M without a P: in the poller, until the next timer
/// is due, if no other M is there; otherwise until it is woken. Returns with a P. The last part of Go's
/// `findRunnable`.
///
/// `procs` is the table that the M has read while it had a P; at `poll_until` the next timer is due that
/// it knows of, 0 if it knows of none.
pub(crate) fn poll_or_stop(
    mp: &'static M,
    procs: &Procs,
    mut poll_until: i64,
    was_spinning: bool,
) -> Option<&'static G> {
    if was_spinning {
        // As drop_p for work: a timer may have been set while this M was looking.
        poll_until = check_timers_no_p(procs, poll_until);
    }
    let to_poll = netpollinited() && (netpoll_any_waiters() || poll_until != 0);
    if to_poll && sched().lastpoll.swap(0, Ordering::SeqCst) != 0 {
        sched().poll_until.store(poll_until, Ordering::SeqCst);
        if !mp.p.is_null() {
            throw("findrunnable: netpoll with p");
        }
        if mp.spinning.get() {
            throw("findrunnable: netpoll with spinning");
        }
        let delay = match poll_until {
            // The last wait has ended, and the thread that ended it may not have seen that an M polls: either
            // it sees `lastpoll`, or this sees that no goroutine waits.
            0 if !netpoll_any_waiters() => 0,
            0 => -1,
            _ => (poll_until - nanotime()).max(0),
        };
        let (list, delta) = netpoll(delay);
        sched().poll_until.store(0, Ordering::SeqCst);
        sched().lastpoll.store(nanotime(), Ordering::SeqCst);
        lock(&sched().lock);
        let pp = pidleget();
        unlock(&sched().lock);
        let Some(pp) = pp else {
            injectglist(&list);
            netpoll_adjust_waiters(delta);
            stopm(mp);
            return None;
        };
        acquirep(mp, pp);
        let first = first_polled(&list, delta);
        if first.is_none() && was_spinning {
            mp.become_spinning();
        }
        return first;
    }
    if to_poll && poll_until != 0 {
        // Another M polls, and may wait for longer than this timer.
        let poller_poll_until = sched().poll_until.load(Ordering::SeqCst);
        if poller_poll_until == 0 || poller_poll_until > poll_until {
            netpoll_break();
        }
    }
    stopm(mp);
    None
}
