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
use crate::runtime::g::extent::is_aborted_here;
use crate::runtime::sched::park::gosched;
use crate::runtime::stdpark::gate::{is_thread, live, may_park};
use crate::runtime::time::sleep::{time_sleep, time_sleep_limited};

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
/// kernel would accept the arguments. Returns whether it has slept. Nothing ends the sleep early.
///
/// # Safety
/// `request` is null or a time.
pub(super) unsafe fn sleep(clock: libc::clockid_t, flags: c_int, request: *const libc::timespec) -> bool {
    let slept = || {
        may_park()?;
        let known = matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC | libc::CLOCK_BOOTTIME);
        // SAFETY: the caller says that `request` is null or a time.
        let time = unsafe { request.as_ref() }.filter(|_| known).and_then(nanoseconds)?;
        let absolute = flags & libc::TIMER_ABSTIME != 0;
        sleep_for(if absolute { from_now(clock, time)? } else { time });
        Some(())
    };
    slept().is_some()
}

/// Sleeps for `ns` nanoseconds, or until the thread that the goroutine is was canceled; if that is
/// 0 or less, only lets others run. Called on a goroutine that may park.
pub(super) fn sleep_for(ns: i64) {
    if ns <= 0 {
        // SAFETY: on a goroutine that may park, and has thread-locals of its own.
        return unsafe { gosched() };
    }
    let until = now().saturating_add(ns);
    let is_thread = getg().is_some_and(is_thread);
    // By another clock, a timer may fire a little before its time.
    loop {
        let left = until.saturating_sub(now());
        if left <= 0 || is_thread && is_aborted_here() {
            return;
        }
        // SAFETY: on a goroutine that may park, and has thread-locals of its own.
        unsafe {
            if is_thread {
                time_sleep_limited(left);
            } else {
                time_sleep(left);
            }
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
