//! Timers of which nothing is heard once they are stopped or set anew: those that feed a channel, that
//! call a function, that end a wait.
//!
//! A timer that has fired leaves its heap and its lock, and only then does what it is for. Meanwhile its
//! owner may stop it, set it to another time, or be gone. So each setting has a number, `seq`, which
//! the timer takes along when it fires; stopping and setting change it, and `send_lock` is held by both
//! sides. Who finds another number comes too late and does nothing. As a timer's memory stays a timer
//! (see [`pool`](crate::pool)), that holds for one that has got another owner, too. Go does it so since
//! 1.23.

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

/// When it will be `ns` nanoseconds from now: at the end of time at the latest. Go's `when`, in
/// `time/sleep.go`.
pub(crate) fn when(ns: i64) -> i64 {
    nanotime().saturating_add(ns)
}

/// Calls `f` with the timer's `send_lock`.
fn locked<R>(t: &Timer, f: impl FnOnce() -> R) -> R {
    lock(&t.ext.send_lock);
    let result = f();
    unlock(&t.ext.send_lock);
    result
}

/// Sets the timer to another time; its `f` gets the timer as its argument. Says whether it was set, and
/// nothing comes of that any more.
pub(crate) fn set(t: &'static Timer, when: i64, period: i64, f: TimerFn) -> bool {
    locked(t, || set_locked(t, when, period, f))
}

fn set_locked(t: &'static Timer, when: i64, period: i64, f: TimerFn) -> bool {
    let seq = t.seq.load(Ordering::Relaxed).wrapping_add(1);
    modtimer(t, when, period, Some(f), t.as_arg(), seq);
    t.ext.set.replace(true)
}

/// Stops the timer; says whether it was set, and nothing comes of it any more.
pub(crate) fn cancel(t: &'static Timer) -> bool {
    locked(t, || cancel_locked(t))
}

fn cancel_locked(t: &'static Timer) -> bool {
    t.seq.store(t.seq.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    deltimer(t);
    t.ext.set.replace(false)
}

/// For a timer that has fired: calls `act` with what waits for it, unless it was stopped or set anew
/// since.
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
    // Its last user's may still be about to fire, and have this lock.
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

/// A channel that gets the time at `when`, and then each `period` if that isn't 0, unless the last one
/// is still there. The values are [`Instant`]s, or nothing. None if there is no memory for it. The
/// timer is the channel's, which has no sender's handle.
pub(crate) fn make_timer_chan(elem: &'static Type, when: i64, period: i64) -> Option<NonNull<Hchan>> {
    let c = makechan(elem, 1)?;
    let t = start(when, period, send_time, c.as_ptr().cast());
    // SAFETY: nobody else has it but the timer, which knows nothing of this.
    let ext = unsafe { &c.as_ref().ext };
    ext.link.set(t.as_arg());
    ext.senders.store(0, Ordering::Relaxed);
    ext.sides.store(1, Ordering::Relaxed);
    Some(c)
}

/// Sends the time to the channel of a timer, if there is room. Go's `sendTime`, in `time/sleep.go`.
unsafe extern "C" fn send_time(t: *mut c_void, seq: usize) {
    // SAFETY: `set` passes the timer, which is never freed.
    let t = unsafe { &*t.cast::<Timer>() };
    fire(t, seq, |c| {
        let now = Instant::now();
        // SAFETY: the channel cancels the timer before it goes, and its values are of this type, or
        // of no size.
        unsafe { chansend(NonNull::new(c.cast()), (&raw const now).cast(), false) }
    });
}

/// The timer that feeds a channel.
///
/// # Safety
/// The channel stays.
unsafe fn timer_of(c: NonNull<Hchan>) -> Option<&'static Timer> {
    // SAFETY: the caller's; a channel that is in use has null there, or its timer.
    unsafe { c.as_ref().ext.link.get().cast::<Timer>().as_ref() }
}

/// [`set`] for the timer of a channel: a time that it has sent before, and nobody has received, is
/// taken out of the channel.
///
/// # Safety
/// The channel stays, and [`make_timer_chan`] made it.
pub(crate) unsafe fn set_chan(c: NonNull<Hchan>, when: i64, period: i64) -> bool {
    // SAFETY: the caller's.
    let Some(t) = (unsafe { timer_of(c) }) else { return false };
    // SAFETY: likewise.
    locked(t, || set_locked(t, when, period, send_time) | unsafe { take_stale(c) })
}

/// [`cancel`] for the timer of a channel, likewise.
///
/// # Safety
/// As [`set_chan`].
pub(crate) unsafe fn cancel_chan(c: NonNull<Hchan>) -> bool {
    // SAFETY: the caller's.
    let Some(t) = (unsafe { timer_of(c) }) else { return false };
    // SAFETY: likewise.
    locked(t, || cancel_locked(t) | unsafe { take_stale(c) })
}

/// Takes the time out of a channel, if one is there; says whether it was.
///
/// # Safety
/// As [`set_chan`].
unsafe fn take_stale(c: NonNull<Hchan>) -> bool {
    // SAFETY: the caller's; times need not be dropped.
    unsafe { chanrecv(Some(c), ptr::null_mut(), false) == Received::Done }
}

/// The channel is going to be freed: its timer, if it has one, ends.
///
/// # Safety
/// Nobody has the channel.
pub(crate) unsafe fn drop_timer_of(c: NonNull<Hchan>) {
    // SAFETY: the caller's.
    if let Some(t) = unsafe { timer_of(c) } {
        end(t);
    }
}
