//! Putting a goroutine to sleep: Go's `timeSleep`, in `time.go`. Also converts a `Duration` or an
//! `Instant` to a timer's nanoseconds: Go's `when`, in `time/sleep.go`.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use crate::runtime::base::this::{goroutine, with_room};
use crate::runtime::data::runtime2::{G, TraceBlockReason, WaitReason};
use crate::runtime::data::timer::{MAX_WHEN, Timer};
use crate::runtime::explore::clock::{instant_now, now, timers_p};
use crate::runtime::g::extent::can_be_aborted;
use crate::runtime::p::timer::acquire_timer;
#[cfg(feature = "std")]
use crate::runtime::p::timer::try_acquire_timer;
use crate::runtime::sched::abort::until_ended;
use crate::runtime::sched::park::gopark_on;
use crate::runtime::sched::ready::goready;
use crate::runtime::time::modify::{deltimer, resettimer};

/// [`proc::time_sleep`](crate::proc::time_sleep) without the check of the stack. Go's `timeSleep`.
///
/// The timer stays with the goroutine, for its next sleep.
///
/// # Safety
/// As the raw one, on a goroutine.
#[inline(never)]
pub(crate) unsafe fn time_sleep(ns: i64) {
    if ns <= 0 {
        return;
    }
    let (gp, mp) = goroutine();
    // The allocator and the clock take more stack than a copying goroutine has.
    let t = with_room(|| {
        let t = gp.timer.get().unwrap_or_else(acquire_timer);
        t.f.set(Some(goroutine_ready));
        t.arg.set(gp.as_ptr().cast());
        t.nextwhen.set(now().checked_add(ns).unwrap_or(MAX_WHEN));
        t
    });
    gp.timer.set(Some(t));
    if timers_p().is_some() {
        // The timer is on the clock of an exploration, which advances only when this goroutine has
        // left. On g0 it wouldn't be known whose timer it is.
        resettimer(t, t.nextwhen.get());
        // SAFETY: as below; the timer has been started.
        unsafe { gopark_on(gp, mp, None, ptr::null_mut(), WaitReason::Sleep, TraceBlockReason::Sleep, 1) };
        return;
    }
    // SAFETY: `gp` is the running goroutine and `mp` its M. reset_for_sleep doesn't touch its
    // stack, doesn't park or unwind, and returns true; the timer makes it ready. The caller keeps
    // no thread-local's address.
    unsafe {
        let (reason, trace_reason) = (WaitReason::Sleep, TraceBlockReason::Sleep);
        gopark_on(gp, mp, Some(reset_for_sleep), t.as_arg(), reason, trace_reason, 1);
    }
}

/// Whether [`time_sleep`] on `gp`, the running goroutine, has its timer. Gives it one, if there is
/// memory for it.
#[cfg(feature = "std")]
pub(in crate::runtime) fn has_timer_for_sleep(gp: &G) -> bool {
    if gp.timer.get().is_none() {
        gp.timer.set(with_room(try_acquire_timer));
    }
    gp.timer.get().is_some()
}

/// [`time_sleep`] that ends when the goroutine is aborted.
///
/// # Safety
/// As [`time_sleep`].
pub(crate) unsafe fn time_sleep_limited(ns: i64) {
    let (gp, _) = goroutine();
    // SAFETY: as the caller says.
    unsafe { time_sleep_until_ended(ns, can_be_aborted(gp)) };
}

/// [`time_sleep`] that a signal ends, if it is in a wait that signals end, and an abort if
/// `by_abort`.
///
/// # Safety
/// As [`time_sleep`].
pub(in crate::runtime) unsafe fn time_sleep_until_ended(ns: i64, by_abort: bool) {
    if ns <= 0 {
        return;
    }
    let (gp, _) = goroutine();
    let t = with_room(|| gp.timer.get().unwrap_or_else(acquire_timer));
    gp.timer.set(Some(t));
    let give_up = || {
        // Pairs with the CASes that set the timer: see `sched/abort.rs`.
        fence(Ordering::SeqCst);
        // One thread stops the timer, or it fires.
        deltimer(t).then_some(|| goready(gp))
    };
    // SAFETY: as the caller says. The timer, which give_up has stopped, doesn't wake the goroutine.
    unsafe { until_ended(gp, by_abort, &give_up, || time_sleep(ns)) }
}

/// Starts the timer of a goroutine that has parked. If it were started before, it might fire first,
/// and find the goroutine running. Go's `resetForSleep`.
unsafe extern "C" fn reset_for_sleep(_gp: *mut G, t: *mut c_void) -> bool {
    // SAFETY: gopark passes what time_sleep gave it, a timer, and timers are never freed.
    let t: &'static Timer = unsafe { &*t.cast() };
    resettimer(t, t.nextwhen.get());
    true
}

/// Makes a sleeping goroutine ready. Go's `goroutineReady`.
unsafe extern "C" fn goroutine_ready(gp: *mut c_void, _seq: usize) {
    // SAFETY: time_sleep has set the G that parks as the timer's argument, and G's are never freed.
    goready(unsafe { &*gp.cast::<G>() });
}

/// Returns the time `ns` nanoseconds from now, or the end of time if that is earlier. Go's `when`,
/// in `time/sleep.go`.
pub(crate) fn when(ns: i64) -> i64 {
    now().saturating_add(ns)
}

/// Returns a duration in nanoseconds, at most 292 years.
pub(crate) fn nanos(d: Duration) -> i64 {
    i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)
}

/// Returns the time until `deadline`, or zero if the deadline has passed.
pub(crate) fn until(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(instant_now())
}
