//! Timers that do nothing any more once they are stopped or reset: those that feed a channel, call a
//! function, or end a wait. Go's `sendTime`, `goFunc` and, since 1.23, `sendLock`.
//!
//! A timer that has fired leaves its heap and releases the heap's lock, and only then does what it is for.
//! Meanwhile its owner may stop it, reset it, or be gone. So each setting has a number, `seq`, which the
//! timer takes along when it fires; to stop or reset it changes the number, and both sides hold
//! `send_lock`. A timer that fires and finds another number comes too late and does nothing. As a timer's
//! memory stays a timer (see [`pool`](crate::pool)), that holds for one that has another owner by then.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::chan::hchan::{Hchan, Received, Type};
use crate::chan::make::makechan;
use crate::chan::ops::{chanrecv, chansend};
use crate::lock::{lock, unlock};
use crate::os::nanotime;
use crate::time::modify::{addtimer, deltimer, modtimer};
use crate::time::timer::{Timer, TimerFn, acquire_timer, release_timer};

/// The time `ns` nanoseconds from now, or the end of time if that is earlier. Go's `when`, in
/// `time/sleep.go`.
pub(crate) fn when(ns: i64) -> i64 {
    nanotime().saturating_add(ns)
}

/// Calls `f` with the timer's `send_lock` held.
fn locked<R>(t: &Timer, f: impl FnOnce() -> R) -> R {
    lock(&t.ext.send_lock);
    let result = f();
    unlock(&t.ext.send_lock);
    result
}

/// Resets the timer; `f` gets the timer as its argument. Says whether the timer was set before: then
/// that setting does nothing any more.
pub(crate) fn set(t: &'static Timer, when: i64, period: i64, f: TimerFn) -> bool {
    locked(t, || set_locked(t, when, period, f))
}

fn set_locked(t: &'static Timer, when: i64, period: i64, f: TimerFn) -> bool {
    let seq = t.seq.load(Ordering::Relaxed).wrapping_add(1);
    modtimer(t, when, period, Some(f), t.as_arg(), seq);
    t.ext.set.replace(true)
}

/// Stops the timer; says whether it was set: then it does nothing any more.
pub(crate) fn cancel(t: &'static Timer) -> bool {
    locked(t, || cancel_locked(t))
}

fn cancel_locked(t: &'static Timer) -> bool {
    t.seq.store(t.seq.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    deltimer(t);
    t.ext.set.replace(false)
}

/// For a timer that has fired: calls `act` with its waiter, unless the timer was stopped or reset since.
pub(crate) fn fire<R>(t: &Timer, seq: usize, act: impl FnOnce(*mut c_void) -> R) -> Option<R> {
    locked(t, || {
        let current = t.seq.load(Ordering::Relaxed) == seq && t.ext.set.get();
        current.then(|| {
            t.ext.set.set(t.period.get() > 0);
            act(t.ext.waiter.get())
        })
    })
}

/// A new timer, set for the first time. `waiter`, which [`fire`] passes on, must stay until the timer is
/// cancelled.
pub(crate) fn start(when: i64, period: i64, f: TimerFn, waiter: *mut c_void) -> &'static Timer {
    let t = acquire_timer();
    // As its last user's, the timer may still be about to fire, and hold this lock.
    locked(t, || {
        t.seq.store(t.seq.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        t.when.set(when);
        t.period.set(period);
        t.f.set(Some(f));
        t.arg.set(t.as_arg());
        t.ext.waiter.set(waiter);
        t.ext.set.set(true);
        addtimer(t);
    });
    t
}

/// Stops the timer, and gives it back.
pub(crate) fn end(t: &'static Timer) {
    cancel(t);
    release_timer(t);
}

/// A channel that gets the time at `when`, and then each `period` if that isn't 0, unless the last time
/// is still in it. Its values are [`Instant`]s, or of no size. None if there is no memory for it. The
/// timer belongs to the channel, which no sender has a handle of.
pub(crate) fn make_timer_chan(elem: &'static Type, when: i64, period: i64) -> Option<NonNull<Hchan>> {
    let c = makechan(elem, 1)?;
    let t = start(when, period, send_time, c.as_ptr().cast());
    // SAFETY: makechan made it, and this is the only handle. The timer has it too, and doesn't touch `ext`.
    let ext = unsafe { &c.as_ref().ext };
    ext.link.set(t.as_arg());
    ext.senders.store(0, Ordering::Relaxed);
    ext.sides.store(1, Ordering::Relaxed);
    Some(c)
}

/// Sends the time to the channel of a timer, if there is room. Go's `sendTime`, in `time/sleep.go`.
unsafe extern "C" fn send_time(t: *mut c_void, seq: usize) {
    // SAFETY: `start` and `set` pass the timer itself, which is never freed.
    let t = unsafe { &*t.cast::<Timer>() };
    fire(t, seq, |c| {
        let now = Instant::now();
        // SAFETY: the waiter is the channel of make_timer_chan, whose values are Instants or of no size.
        // It stays, as it is freed after drop_timer_of, which waits for the lock that fire holds.
        unsafe { chansend(NonNull::new(c.cast()), (&raw const now).cast(), false) }
    });
}

/// The timer that feeds a channel.
///
/// # Safety
/// The channel is in use, and stays until this returns.
unsafe fn timer_of(c: NonNull<Hchan>) -> Option<&'static Timer> {
    // SAFETY: the channel stays, as the caller says; while it is in use, the link is null or its timer,
    // which make_timer_chan put there, and timers are never freed.
    unsafe { c.as_ref().ext.link.get().cast::<Timer>().as_ref() }
}

/// [`set`] for the timer of a channel: a time that it has sent before, and nobody has received, is
/// taken out of the channel.
///
/// # Safety
/// [`make_timer_chan`] made the channel, which is in use and stays until this returns.
pub(crate) unsafe fn set_chan(c: NonNull<Hchan>, when: i64, period: i64) -> bool {
    // SAFETY: the channel is in use and stays, as the caller says.
    let Some(t) = (unsafe { timer_of(c) }) else { return false };
    // SAFETY: the caller's channel is one of make_timer_chan, and stays.
    locked(t, || set_locked(t, when, period, send_time) | unsafe { take_stale(c) })
}

/// [`cancel`] for the timer of a channel, as [`set_chan`] is for [`set`].
///
/// # Safety
/// As [`set_chan`].
pub(crate) unsafe fn cancel_chan(c: NonNull<Hchan>) -> bool {
    // SAFETY: the channel is in use and stays, as the caller says.
    let Some(t) = (unsafe { timer_of(c) }) else { return false };
    // SAFETY: the caller's channel is one of make_timer_chan, and stays.
    locked(t, || cancel_locked(t) | unsafe { take_stale(c) })
}

/// Takes the time out of a channel, if one is there; says whether it was.
///
/// # Safety
/// As [`set_chan`].
unsafe fn take_stale(c: NonNull<Hchan>) -> bool {
    // SAFETY: the channel stays, as the caller says, and null is no place. An Instant needs no drop.
    unsafe { chanrecv(Some(c), ptr::null_mut(), false) == Received::Done }
}

/// The channel is going to be freed: its timer, if it has one, ends.
///
/// # Safety
/// The channel is in use until this returns, and the caller's alone.
pub(crate) unsafe fn drop_timer_of(c: NonNull<Hchan>) {
    // SAFETY: the channel is in use, as the caller says, and nobody else can free it.
    if let Some(t) = unsafe { timer_of(c) } {
        end(t);
    }
}
