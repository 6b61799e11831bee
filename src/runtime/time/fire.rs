//! Timers that have no effect once they are stopped or reset: those that feed a channel
//! (`chan/timer_chan.rs`), call a function, or end a wait. Go has `sendLock` for this since 1.23.
//! Also waits with a limit, which such a timer or a cancellation ends.
//!
//! A timer that has fired leaves its heap, and its function is called only after the heap's lock
//! was released. Meanwhile the timer's owner may stop it, reset it, or be gone. So each setting has
//! a number, `seq`, which the call gets as an argument. A stop or a reset changes the number, and
//! both sides hold `send_lock`. A call that finds another number comes too late, and does nothing.
//! As a timer's memory stays a timer ([`pool`](crate::runtime::mem::pool)), this works even if the
//! timer has another owner by then.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::data::timer::{Timer, TimerFn};
use crate::runtime::lock::cancel::Cancellation;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::p::timer::{acquire_timer, release_timer};
use crate::runtime::time::modify::{addtimer, deltimer, modtimer};

/// Calls `f` with the timer's `send_lock` held.
pub(in crate::runtime) fn locked<R>(t: &Timer, f: impl FnOnce() -> R) -> R {
    lock(&t.ext.send_lock);
    let result = f();
    unlock(&t.ext.send_lock);
    result
}

/// Resets the timer; `f` gets the timer as its argument. Returns whether the timer was set before.
/// If so, the old setting has no effect any more.
pub(crate) fn set_timer(t: &'static Timer, when: i64, period: i64, f: TimerFn) -> bool {
    locked(t, || set_locked(t, when, period, f))
}

pub(in crate::runtime) fn set_locked(t: &'static Timer, when: i64, period: i64, f: TimerFn) -> bool {
    let seq = t.seq.load(Ordering::Relaxed).wrapping_add(1);
    modtimer(t, when, period, Some(f), t.as_arg(), seq);
    t.ext.due.swap(when, Ordering::Relaxed) != 0
}

/// Stops the timer. Returns whether it was set. If so, it has no effect any more.
pub(crate) fn cancel_timer(t: &'static Timer) -> bool {
    locked(t, || cancel_locked(t))
}

pub(in crate::runtime) fn cancel_locked(t: &'static Timer) -> bool {
    t.seq.store(t.seq.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    deltimer(t);
    t.ext.due.swap(0, Ordering::Relaxed) != 0
}

/// Calls `act` with the waiter of a timer that has fired, unless the timer was stopped or reset
/// since. For a timer without a period.
pub(crate) fn fire_timer<R>(t: &Timer, seq: usize, act: impl FnOnce(*mut c_void) -> R) -> Option<R> {
    locked(t, || {
        let current = t.seq.load(Ordering::Relaxed) == seq && t.ext.due.load(Ordering::Relaxed) != 0;
        current.then(|| {
            t.ext.due.store(0, Ordering::Relaxed);
            act(t.ext.waiter.get())
        })
    })
}

/// Takes a timer from the pool, and sets it. `waiter`, which [`fire_timer`] passes on, must stay
/// until the timer is cancelled.
pub(crate) fn begin_timer(when: i64, period: i64, f: TimerFn, waiter: *mut c_void) -> &'static Timer {
    let t = acquire_timer();
    // For its last user, the timer may still be about to fire, with this lock held.
    locked(t, || {
        t.seq.store(t.seq.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        t.when.set(when);
        t.period.set(period);
        t.f.set(Some(f));
        t.arg.set(t.as_arg());
        t.ext.waiter.set(waiter);
        t.ext.due.store(when, Ordering::Relaxed);
        addtimer(t);
    });
    t
}

/// Stops the timer, and gives it back to the pool.
pub(crate) fn end_timer(t: &'static Timer) {
    cancel_timer(t);
    release_timer(t);
}

/// The limit of a wait: ends the wait if nothing ended it sooner.
#[derive(Clone, Copy)]
pub(crate) enum Limit<'a> {
    /// A time.
    Time(i64),
    /// A cancellation.
    Canceled(&'a Cancellation),
}

/// Calls `sleep`, which waits until it is woken. If the limit comes first, `give_up` is called,
/// which takes the waiter out of the place where wakers find it. If the waiter was still there,
/// `give_up` returns a function that wakes the waiter.
///
/// # Safety
/// `give_up` may be called, on any thread, before `sleep` or while `sleep` runs, but not after
/// that. The function that it returns may be called until it has woken the waiter. None of these
/// functions unwinds.
pub(in crate::runtime) unsafe fn with_limit<R, G, W>(
    limit: Limit<'_>,
    give_up: &G,
    sleep: impl FnOnce() -> R,
) -> R
where
    G: Fn() -> Option<W>,
    W: FnOnce(),
{
    match limit {
        Limit::Time(when) => {
            let timer = begin_timer(when, 0, time_is_over::<G, W>, ptr::from_ref(give_up).cast_mut().cast());
            let result = sleep();
            end_timer(timer);
            result
        }
        // SAFETY: the caller keeps to the contract of with_limit, which ended_by shares.
        Limit::Canceled(cancellation) => unsafe { cancellation.ended_by(give_up, sleep) },
    }
}

/// The function of a [`with_limit`]'s timer.
unsafe extern "C" fn time_is_over<G: Fn() -> Option<W>, W: FnOnce()>(t: *mut c_void, seq: usize) {
    // SAFETY: a timer that begin_timer has set has itself as its argument, and is never freed.
    let t = unsafe { &*t.cast::<Timer>() };
    let wake = fire_timer(t, seq, |give_up| {
        // SAFETY: this is the `give_up` of with_limit, which keeps it until end_timer has returned.
        // fire_timer calls this closure only before that.
        let give_up = unsafe { &*give_up.cast::<G>() };
        give_up()
    });
    // The timer is unlocked by now: the woken goroutine locks it, to end it.
    if let Some(wake) = wake.flatten() {
        wake();
    }
}
