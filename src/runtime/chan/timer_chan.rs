//! Channels that a timer feeds, as Go's `time.After`, `time.Tick` and `time.NewTimer` make them;
//! `sendTime`.
//!
//! A value is sent when the timer fires. As in Go since 1.23, it is also sent when a receive finds
//! that the timer is due, as the P that has the timer may be busy. A program can't tell the two
//! apart: the value is the time at which the timer was due, and the buffer doesn't count in the
//! channel's length and capacity.
//!
//! - `due`, in the timer, is the time of the next value. The sender holds `send_lock` and moves
//!   `due` on, so each value is sent once. The timer stays in its heap, and does nothing if it
//!   fires before `due`.
//! - In Go a timer is in a heap only while a goroutine waits for it. Here it is always in a heap,
//!   so a wait has nothing to do.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;

use crate::runtime::base::this::with_room;
use crate::runtime::chan::block::Block;
use crate::runtime::chan::future::{Woken, wake_future};
use crate::runtime::chan::make::{makechan, timer_of};
use crate::runtime::chan::ops::{Received, chanrecv, chansend_and};
use crate::runtime::data::hchan::{EXPLORED, FED, Hchan, Type};
use crate::runtime::data::timer::Timer;
use crate::runtime::explore::clock::{instant_of, now, timers_p};
use crate::runtime::time::fire::{begin_timer, cancel_locked, locked, set_locked};

/// The purpose of a channel's timer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feeds {
    /// A program that receives the times: a receive runs the timer if it is due.
    Receives,
    /// The end of a wait. If both are ready, the event that the wait is for comes first, so the
    /// timer isn't run before the wait.
    Wait,
}

/// Makes a channel that gets the time at `when`, and then each `period` if that isn't 0, unless the
/// last time is still in it. Its values are [`Instant`](std::time::Instant)s, or of no size.
/// Returns none if there is no memory. The timer belongs to the channel, and no sender has a handle
/// of the channel.
pub(crate) fn make_timer_chan(
    elem: &'static Type,
    when: i64,
    period: i64,
    feeds: Feeds,
) -> Option<NonNull<Hchan>> {
    let c = makechan(elem, 1)?;
    if feeds == Feeds::Receives {
        // SAFETY: makechan made it, and this is the only handle.
        unsafe { c.as_ref() }.closed.fetch_or(FED, Ordering::Relaxed);
    }
    let t = begin_timer(when, period, send_time, c.as_ptr().cast());
    // Only the clock of an exploration reads `feeds`, and that clock stands still as long as this
    // goroutine runs.
    t.ext.feeds.set(true);
    // SAFETY: makechan made it, and this is the only handle. The timer has it too, and doesn't
    // touch `ext`.
    let ext = unsafe { &c.as_ref().ext };
    ext.link.set(t.as_arg());
    ext.senders.store(0, Ordering::Relaxed);
    ext.sides.store(1, Ordering::Relaxed);
    Some(c)
}

/// Sends the time to the channel of a timer that has fired, unless the timer was stopped or reset
/// since. Go's `sendTime`, in `time/sleep.go`.
unsafe extern "C" fn send_time(t: *mut c_void, seq: usize) {
    // SAFETY: begin_timer and set_locked pass the timer itself, which is never freed.
    let t = unsafe { &*t.cast::<Timer>() };
    let current = || t.seq.load(Ordering::Relaxed) == seq;
    if let Some(woken) = locked(t, || if current() { send_if_due(t) } else { None }) {
        wake_future(woken);
    }
}

/// Runs the timer of a channel if it is due. Called by a receive that is about to look for a value.
/// `c` isn't locked. Go's `maybeRunChan`.
#[cold]
#[inline(never)]
pub(super) fn maybe_run_chan(c: &Hchan) {
    // SAFETY: the caller keeps the channel.
    let Some(t) = (unsafe { timer_of(NonNull::from(c)) }) else { return };
    // Acquire pairs with the release in send_if_due: if the timer was run, its value is seen in the
    // channel.
    let due = t.ext.due.load(Ordering::Acquire);
    // The timer isn't set, or a caller that holds `send_lock` empties the channel.
    if due == 0 {
        return;
    }
    // The clock takes more stack than a copying goroutine has.
    let (now, explores) = with_room(|| (now(), timers_p().is_some()));
    let explored = c.closed.load(Ordering::Relaxed) & EXPLORED != 0;
    // If the timer has another clock than the caller, its P or its run will find it due.
    if due > now || explored != explores {
        return;
    }
    if let Some(woken) = locked(t, || send_if_due(t)) {
        wake_future(woken);
    }
}

/// If a channel's timer is due, sends the time at which it was due, unless the last value is still
/// there. Returns the future that got the value, to be woken without a lock. `send_lock` is held.
/// The second half of Go's `unlockAndRun`.
fn send_if_due(t: &Timer) -> Option<Woken> {
    let due = t.ext.due.load(Ordering::Relaxed);
    let (now, time) = with_room(|| {
        let now = now();
        (due != 0 && due <= now).then(|| (now, instant_of(due)))
    })?;
    let c = NonNull::new(t.ext.waiter.get().cast());
    let mut future = None;
    // SAFETY: the waiter is the channel of make_timer_chan, whose values are Instants or of no
    // size. It stays, as it is freed after drop_timer_of, which waits for the lock that is held.
    unsafe {
        chansend_and(c, (&raw const time).cast(), Block::No, |woken| {
            woken.note_setting(t.seq.load(Ordering::Relaxed));
            future = Some(woken);
        });
    }
    let next = match t.period.get() {
        0 => 0,
        period => due.saturating_add(period.saturating_mul(1 + (now - due) / period)),
    };
    // Release pairs with the acquire in maybe_run_chan.
    t.ext.due.store(next, Ordering::Release);
    future
}

/// [`set_timer`](crate::runtime::time::fire::set_timer) for the timer of a channel. Takes a time
/// that the timer has sent, and nobody has received, out of the channel.
///
/// # Safety
/// [`make_timer_chan`] made the channel, which is in use and stays until this returns.
pub(crate) unsafe fn set_chan(c: NonNull<Hchan>, when: i64, period: i64) -> bool {
    // SAFETY: the channel is in use and stays, as the caller says.
    let Some(t) = (unsafe { timer_of(c) }) else { return false };
    locked(t, || {
        // Not set while the channel is emptied.
        let was_set = t.ext.due.swap(0, Ordering::Relaxed) != 0;
        // SAFETY: the caller's channel is one of make_timer_chan, and stays.
        let stale = unsafe { take_stale(c) };
        set_locked(t, when, period, send_time);
        was_set | stale
    })
}

/// [`cancel_timer`](crate::runtime::time::fire::cancel_timer) for the timer of a channel, as
/// [`set_chan`] is for [`set_timer`](crate::runtime::time::fire::set_timer).
///
/// # Safety
/// As [`set_chan`].
pub(crate) unsafe fn cancel_chan(c: NonNull<Hchan>) -> bool {
    // SAFETY: the channel is in use and stays, as the caller says.
    let Some(t) = (unsafe { timer_of(c) }) else { return false };
    // SAFETY: the caller's channel is one of make_timer_chan, and stays.
    locked(t, || cancel_locked(t) | unsafe { take_stale(c) })
}

/// Takes the time out of a channel, if there is one, and times that came back. Returns whether
/// there was any. `send_lock` is held, and the timer isn't set: a receive would run a set timer,
/// and wait for that lock. Go's `timerchandrain`.
///
/// # Safety
/// As [`set_chan`].
unsafe fn take_stale(c: NonNull<Hchan>) -> bool {
    // SAFETY: the channel stays, as the caller says, and null is no place. An Instant needs no
    // drop.
    let take = || unsafe { chanrecv(Some(c), ptr::null_mut(), Block::No) == Received::Done };
    let taken = take();
    while taken && take() {}
    taken
}
