//! Sleeps and yields.

use std::ffi::c_int;

use crate::runtime::base::os::clock_time;
use crate::runtime::explore::clock::{now, time_of_run};
use crate::runtime::sched::gosched::gosched;
use crate::runtime::stdpark::gate::may_park;
use crate::runtime::time::sleep::time_sleep;

/// The nanoseconds of a time; none if the kernel refuses it.
pub(super) fn nanoseconds(time: &libc::timespec) -> Option<i64> {
    let valid = time.tv_sec >= 0 && (0..1_000_000_000).contains(&time.tv_nsec);
    valid.then(|| time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec))
}

/// How long it is until `clock` says `time`, of a clock that a wait can be converted from. A step
/// of the clock during the wait isn't followed.
pub(super) fn from_now(clock: libc::clockid_t, time: i64) -> Option<i64> {
    Some(time.saturating_sub(time_of_run(clock).or_else(|| clock_time(clock))?))
}

/// Sleeps as `clock_nanosleep` does, if it is a goroutine that may park here, and a sleep that the
/// kernel takes; says whether it has slept. Nothing ends the sleep sooner.
///
/// # Safety
/// `request` is null or a time.
pub(super) unsafe fn sleep(clock: libc::clockid_t, flags: c_int, request: *const libc::timespec) -> bool {
    let slept = || {
        may_park()?;
        let known = matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC | libc::CLOCK_BOOTTIME);
        // SAFETY: as the caller says.
        let time = unsafe { request.as_ref() }.filter(|_| known).and_then(nanoseconds)?;
        let absolute = flags & libc::TIMER_ABSTIME != 0;
        sleep_for(if absolute { from_now(clock, time)? } else { time });
        Some(())
    };
    slept().is_some()
}

/// Sleeps for `ns` nanoseconds; lets others run if that is 0 or less. On a goroutine that may park.
pub(super) fn sleep_for(ns: i64) {
    if ns <= 0 {
        // SAFETY: on a goroutine that may park, and has thread-locals of its own.
        return unsafe { gosched() };
    }
    let until = now().saturating_add(ns);
    // A timer may fire a little before its time by another clock.
    loop {
        let left = until.saturating_sub(now());
        if left <= 0 {
            return;
        }
        // SAFETY: as above.
        unsafe { time_sleep(left) };
    }
}

/// Lets others run, if it is a goroutine that may park here; says whether it is.
pub(super) fn yield_now() -> bool {
    let may = may_park().is_some();
    if may {
        // SAFETY: as in sleep_for.
        unsafe { gosched() };
    }
    may
}
