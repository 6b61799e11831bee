//! Channels that a timer feeds, as Go's `time.After`, `time.Tick` and `time.NewTimer` make them; `sendTime`.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;

use crate::runtime::chan::future::wake_future;
use crate::runtime::chan::make::{makechan, timer_of};
use crate::runtime::chan::ops::{Received, chanrecv, chansend_and};
use crate::runtime::data::hchan::{Hchan, Type};
use crate::runtime::data::timer::Timer;
use crate::runtime::explore::clock::instant_now;
use crate::runtime::time::fire::{begin_timer, cancel_locked, fire_timer, locked, set_locked};

/// A channel that gets the time at `when`, and then each `period` if that isn't 0, unless the last time
/// is still in it. Its values are [`Instant`]s, or of no size. None if there is no memory for it. The
/// timer belongs to the channel, which no sender has a handle of.
pub(crate) fn make_timer_chan(elem: &'static Type, when: i64, period: i64) -> Option<NonNull<Hchan>> {
    let c = makechan(elem, 1)?;
    let t = begin_timer(when, period, send_time, c.as_ptr().cast());
    // SAFETY: makechan made it, and this is the only handle. The timer has it too, and doesn't touch `ext`.
    let ext = unsafe { &c.as_ref().ext };
    ext.link.set(t.as_arg());
    ext.senders.store(0, Ordering::Relaxed);
    ext.sides.store(1, Ordering::Relaxed);
    Some(c)
}

/// Sends the time to the channel of a timer, if there is room. Go's `sendTime`, in `time/sleep.go`.
unsafe extern "C" fn send_time(t: *mut c_void, seq: usize) {
    // SAFETY: begin_timer and set_locked pass the timer itself, which is never freed.
    let t = unsafe { &*t.cast::<Timer>() };
    let mut future = None;
    fire_timer(t, seq, |c| {
        let now = instant_now();
        let (c, now) = (NonNull::new(c.cast()), (&raw const now).cast());
        // SAFETY: the waiter is the channel of make_timer_chan, whose values are Instants or of no size.
        // It stays, as it is freed after drop_timer_of, which waits for the lock that fire_timer holds.
        unsafe {
            chansend_and(c, now, false, |woken| {
                woken.note_setting(seq);
                future = Some(woken);
            })
        }
    });
    // Not with that lock held.
    if let Some(woken) = future {
        wake_future(woken);
    }
}

/// [`set_timer`](crate::runtime::time::fire::set_timer) for the timer of a channel: a time that it has sent before, and
/// nobody has received, is taken out of the channel.
///
/// # Safety
/// [`make_timer_chan`] made the channel, which is in use and stays until this returns.
pub(crate) unsafe fn set_chan(c: NonNull<Hchan>, when: i64, period: i64) -> bool {
    // SAFETY: the channel is in use and stays, as the caller says.
    let Some(t) = (unsafe { timer_of(c) }) else { return false };
    // SAFETY: the caller's channel is one of make_timer_chan, and stays.
    locked(t, || set_locked(t, when, period, send_time) | unsafe { take_stale(c) })
}

/// [`cancel_timer`](crate::runtime::time::fire::cancel_timer) for the timer of a channel, as [`set_chan`] is for
/// [`set_timer`](crate::runtime::time::fire::set_timer).
///
/// # Safety
/// As [`set_chan`].
pub(crate) unsafe fn cancel_chan(c: NonNull<Hchan>) -> bool {
    // SAFETY: the channel is in use and stays, as the caller says.
    let Some(t) = (unsafe { timer_of(c) }) else { return false };
    // SAFETY: the caller's channel is one of make_timer_chan, and stays.
    locked(t, || cancel_locked(t) | unsafe { take_stale(c) })
}

/// Takes the time out of a channel, if one is there, and those that came back; says whether one was.
///
/// # Safety
/// As [`set_chan`].
unsafe fn take_stale(c: NonNull<Hchan>) -> bool {
    // SAFETY: the channel stays, as the caller says, and null is no place. An Instant needs no drop.
    let take = || unsafe { chanrecv(Some(c), ptr::null_mut(), false) == Received::Done };
    let taken = take();
    while taken && take() {}
    taken
}
