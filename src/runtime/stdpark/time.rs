//! Sleeps and yields, and the clock and random numbers of an exploration: the cold halves of
//! `symbols/time.rs`.
//!
//! In an exploration, runs with the same choices give a goroutine the same time and random numbers.
//! A goroutine that may not park waits in the kernel, by real time. So its clock is the kernel's,
//! too: otherwise a wait until a time would never end.

use std::ffi::{c_int, c_void};
use std::slice;

use libc::{clockid_t, timespec};

use crate::runtime::arch::getg;
use crate::runtime::base::os::clock_time;
use crate::runtime::explore::clock::{now, time_of_run};
use crate::runtime::explore::random::fill_from_run;
use crate::runtime::g::extent::{can_be_aborted, is_aborted_here};
use crate::runtime::m::signaled::{Handled, handle_signals, until_signaled};
use crate::runtime::sched::park::gosched;
use crate::runtime::stdpark::gate::{is_thread, live, may_park};
use crate::runtime::stdpark::operation::EINTR;
use crate::runtime::time::sleep::{has_timer_for_sleep, time_sleep_until_ended};

/// Returns a time in nanoseconds, or none if the kernel refuses it.
pub(super) fn nanoseconds(time: &libc::timespec) -> Option<i64> {
    let valid = time.tv_sec >= 0 && (0..1_000_000_000).contains(&time.tv_nsec);
    valid.then(|| time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec))
}

/// Returns how long it is until `clock` says `time`, or none for a clock that can't be converted. A
/// wait doesn't follow a step of the clock meanwhile.
pub(super) fn from_now(clock: libc::clockid_t, time: i64) -> Option<i64> {
    Some(time.saturating_sub(time_of_run(clock).or_else(|| clock_time(clock))?))
}

/// Returns the time of the runtime's clock at which `clock` says `time`; none if the kernel refuses
/// the time, or for a clock that can't be converted.
#[cfg(pthreads)]
pub(in crate::runtime) fn until_clock_says(clock: libc::clockid_t, time: &libc::timespec) -> Option<i64> {
    Some(now().saturating_add(from_now(clock, nanoseconds(time)?)?))
}

/// Sleeps as `clock_nanosleep` does, if the caller is a goroutine that may park here, and the
/// kernel would accept the arguments. Returns what the kernel would.
///
/// # Safety
/// As the C library's `clock_nanosleep`.
pub(super) unsafe fn sleep(
    clock: libc::clockid_t,
    flags: c_int,
    request: *const timespec,
    rest: *mut timespec,
) -> Option<isize> {
    may_park()?;
    let known = matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC | libc::CLOCK_BOOTTIME);
    // SAFETY: null or a time, as the caller says.
    let time = unsafe { request.as_ref() }.filter(|_| known).and_then(nanoseconds)?;
    let absolute = flags & libc::TIMER_ABSTIME != 0;
    let left = sleep_for(if absolute { from_now(clock, time)? } else { time })?;
    if left == 0 {
        return Some(0);
    }
    // SAFETY: null or a place for a time, as the caller says.
    if !absolute && let Some(rest) = unsafe { rest.as_mut() } {
        *rest = timespec { tv_sec: left / 1_000_000_000, tv_nsec: left % 1_000_000_000 };
    }
    Some(EINTR)
}

/// Sleeps for `ns` nanoseconds; if that is 0 or less, only lets others run. The cancellation of the
/// thread that the goroutine is ends the sleep. Returns 0 then, and how much was left if a signal
/// has ended it; none if there is no memory for a timer. Called on a goroutine that may park.
pub(super) fn sleep_for(ns: i64) -> Option<i64> {
    let Some(gp) = getg().filter(|_| ns > 0) else {
        // SAFETY: on a goroutine that may park, and has thread-locals of its own.
        unsafe { gosched() };
        return Some(0);
    };
    let until = now().saturating_add(ns);
    let is_thread = is_thread(gp);
    // By another clock, a timer may fire a little before its time.
    loop {
        let left = until.saturating_sub(now());
        if left <= 0 || is_thread && is_aborted_here() {
            return Some(0);
        }
        let by_abort = is_thread && can_be_aborted(gp);
        let slept = until_signaled(gp, || {
            has_timer_for_sleep(gp).then(|| {
                // SAFETY: on a goroutine that may park, and has thread-locals of its own.
                unsafe { time_sleep_until_ended(left, by_abort) }
            })
        });
        // Handlers may run for long.
        let left = until.saturating_sub(now()).max(0);
        let handled = handle_signals(gp);
        slept?;
        if handled != Handled::Nothing {
            return Some(left);
        }
    }
}

/// Lets others run, if the caller is a goroutine that may park here. Returns whether it is.
pub(super) fn yield_now() -> bool {
    let may = may_park().is_some();
    if may {
        // SAFETY: as in sleep_for.
        unsafe { gosched() };
    }
    may
}

/// `clock_gettime` in a run. Returns false, and writes nothing, if the caller's time is the
/// kernel's, or the clock doesn't follow the run's.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn clock_gettime(clock: clockid_t, time: *mut timespec) -> bool {
    let Some(ns) = may_park().and_then(|_| time_of_run(clock)) else { return false };
    // SAFETY: the caller keeps to the C library's contract of `clock_gettime`.
    unsafe { time.write(timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 }) };
    true
}

/// Replaces the numbers that `getrandom` has returned by the run's, if the caller is in a run.
///
/// # Safety
/// `buf` has `len` bytes, which belong to the caller.
#[cold]
#[inline(never)]
pub(super) unsafe fn getrandom(buf: *mut c_void, len: usize) {
    if live() {
        // SAFETY: the caller says that `buf` has `len` bytes, which belong to it.
        fill_from_run(unsafe { slice::from_raw_parts_mut(buf.cast(), len) });
    }
}
