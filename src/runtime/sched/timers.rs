//! Running the timers of a P that are due, and when the next one is: Go's `checkTimers` and
//! `checkTimersNoP`.

use std::sync::atomic::Ordering;

use crate::runtime::base::os::nanotime;
use crate::runtime::data::runtime2::{M, P};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::p::procs::Procs;
use crate::runtime::p::timer_heap::{adjusttimers, clear_deleted_timers, nobarrier_wake_time, runtimer};

/// What [`check_timers`] knows.
pub(super) struct Checked {
    /// The time, 0 if it wasn't needed.
    pub(in crate::runtime) now: i64,
    /// When the next timer is due, 0 if there is none.
    pub(in crate::runtime) poll_until: i64,
    /// Whether a timer has run.
    pub(in crate::runtime) ran: bool,
}

/// Runs the timers of `pp` that are due, for `mp`, which has the P: in each round of the scheduler,
/// so it costs next to nothing where there are no timers.
#[inline(always)]
pub(super) fn check_own_timers(mp: &M, pp: &'static P) {
    // A heap that isn't empty has a first timer, modified ones or not.
    if pp.timer0_when.load(Ordering::Relaxed) != 0 {
        check_timers(mp, pp, 0);
    }
}

/// Whether [`check_own_timers`] has something to do.
#[inline(always)]
pub(super) fn own_timers_due(pp: &P) -> bool {
    pp.timer0_when.load(Ordering::Relaxed) != 0 && (nobarrier_wake_time(pp) <= nanotime() || many_deleted(pp))
}

/// Whether timers of `pp` that were deleted are to be taken out.
fn many_deleted(pp: &P) -> bool {
    pp.deleted_timers.load(Ordering::Relaxed) > pp.num_timers.load(Ordering::Relaxed) / 4
}

/// Runs the timers of `pp` that are due. `now` is the time, or 0. `mp` is this thread's M. Go's
/// `checkTimers`.
#[inline(never)]
pub(super) fn check_timers(mp: &M, pp: &'static P, now: i64) -> Checked {
    let next = nobarrier_wake_time(pp);
    if next == 0 {
        return Checked { now, poll_until: 0, ran: false };
    }
    let now = if now == 0 { nanotime() } else { now };
    // Only for its own P: less contention for the lock.
    let own = mp.p().is_some_and(|mine| std::ptr::eq(mine, pp));
    let many_deleted = || own && many_deleted(pp);
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
pub(super) fn earlier(a: i64, b: i64) -> i64 {
    if a == 0 || (b != 0 && b < a) { b } else { a }
}

/// `poll_until`, or when a timer of any P is due, if that is earlier. For an M without a P. Go's
/// `checkTimersNoP`.
pub(super) fn check_timers_no_p(procs: &Procs, poll_until: i64) -> i64 {
    let with_timers = procs.allp.iter().filter(|pp| procs.timerp_mask.read(pp.id.get()));
    with_timers.map(|pp| nobarrier_wake_time(pp)).fold(poll_until, earlier)
}
