//! Running timers that are due, and telling when the next one is: Go's `runtimer`, `runOneTimer`,
//! `nobarrierWakeTime`.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use crate::runtime::arch::sanitizer::ordering;
use crate::runtime::base::os::osyield;
use crate::runtime::data::runtime2::P;
use crate::runtime::data::timer::{
    TIMER_DELETED, TIMER_DROPPED, TIMER_MODIFIED_EARLIER, TIMER_MODIFIED_LATER, TIMER_MODIFYING,
    TIMER_NO_STATUS, TIMER_RUNNING, TIMER_WAITING, Timer, TimerFn, TimerWhen,
};
use crate::runtime::lock::{assert_lock_held, lock, unlock};
use crate::runtime::p::timers::adjust::{move_first, take_out_first};
use crate::runtime::p::timers::heap::{check_p, dodeltimer0, siftdown_timer, update_timer0_when};
use crate::runtime::p::timers::timer::bad_timer;

/// When a timer of `pp` may be due, 0 if there is none; without the lock. Go's `nobarrierWakeTime`.
#[inline(always)]
pub(in crate::runtime) fn nobarrier_wake_time(pp: &P) -> i64 {
    let next = pp.timer0_when.load(Ordering::SeqCst);
    let next_adj = pp.timer_modified_earliest.load(Ordering::SeqCst);
    if next == 0 || (next_adj != 0 && next_adj < next) { next_adj } else { next }
}

/// Runs the first timer of `pp` if it is due, and says whether it was; the lock is held, and
/// dropped while the timer's function runs. Go's `runtimer`.
///
/// Go's returns when the next timer is due. That would leave out one that is to be moved to an
/// earlier time; [`nobarrier_wake_time`] doesn't.
pub(in crate::runtime) fn runtimer(pp: &'static P, now: i64) -> bool {
    match take_due(pp, now) {
        Some(taken) => {
            run_one_timer(pp, taken);
            true
        }
        None => false,
    }
}

/// Calls the function of a timer of `pp` that was taken; the lock is held, and dropped meanwhile.
/// The second half of Go's `runOneTimer`.
#[inline(always)]
fn run_one_timer(pp: &P, taken: Taken) {
    unlock(&pp.timers_lock);
    taken.run();
    lock(&pp.timers_lock);
}

/// The call that a timer has fired for. The timer is its owner's again: it may be reset, or even
/// have another owner.
pub(in crate::runtime) struct Taken {
    f: Option<TimerFn>,
    arg: *mut c_void,
    seq: usize,
}

impl Taken {
    /// Calls the timer's function. On g0 with a P, without a lock.
    pub(in crate::runtime) fn run(self) {
        if let Some(f) = self.f {
            // SAFETY: as a TimerFn demands: on g0 with a P, the heap's lock released, and with the
            // arguments that the timer's owner set for it, read while the timer was ours (RUNNING).
            ordering(|| unsafe { f(self.arg, self.seq) });
        }
    }
}

/// Takes the first timer of `pp` if it is due; the lock is held.
pub(in crate::runtime) fn take_due(pp: &'static P, now: i64) -> Option<Taken> {
    assert_lock_held(&pp.timers_lock);
    loop {
        let first = pp.timers.entries().first()?;
        let t = first.get().timer;
        check_p(pp, t);
        match t.status.load(Ordering::Acquire) {
            TIMER_WAITING => {
                if first.get().when > now {
                    return None;
                }
                if t.cas(TIMER_WAITING, TIMER_RUNNING) {
                    return Some(take(pp, t, now));
                }
            }
            s @ (TIMER_DELETED | TIMER_DROPPED) => take_out_first(pp, t, s),
            s @ (TIMER_MODIFIED_EARLIER | TIMER_MODIFIED_LATER) => move_first(pp, t, s),
            TIMER_MODIFYING => osyield(),
            _ => bad_timer(),
        }
    }
}

/// Takes `t`, the first timer of `pp`, in state [`TIMER_RUNNING`]; the lock is held. The first half
/// of Go's `runOneTimer`.
#[inline(always)]
fn take(pp: &'static P, t: &'static Timer, now: i64) -> Taken {
    let taken = Taken { f: t.f.get(), arg: t.arg.get(), seq: t.seq.load(Ordering::Relaxed) };
    let period = t.period.get();
    if period > 0 {
        // The timer stays, for the first multiple of its period that is to come.
        let late = now - t.when.get();
        let ahead = period.saturating_mul(1 + late / period);
        t.when.set(t.when.get().saturating_add(ahead));
        let timers = pp.timers.entries();
        timers[0].set(TimerWhen { timer: t, when: t.when.get() });
        siftdown_timer(timers, 0);
        t.settle(TIMER_RUNNING, TIMER_WAITING);
        update_timer0_when(pp);
    } else {
        dodeltimer0(pp);
        t.settle(TIMER_RUNNING, TIMER_NO_STATUS);
    }
    taken
}
