//! The time and random numbers of a goroutine of an exploration: the same in each run, as far as
//! the choices are the same. The cold halves of `symbols/clocks.rs`.
//!
//! A goroutine that may not park waits in the kernel, whose time is the real one. So its clock is
//! the kernel's, too: a wait until a time would never end otherwise.

use std::ffi::c_void;
use std::slice;

use libc::{clockid_t, timespec};

use crate::runtime::explore::clock::time_of_run;
use crate::runtime::explore::random::fill_from_run;
use crate::runtime::stdpark::gate::may_park;
use crate::runtime::stdpark::live::live;

/// What `clock_gettime` says in a run. Returns false, and has written nothing, where the caller has
/// the kernel's time, or the clock doesn't follow the run's.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn clock_gettime(clock: clockid_t, time: *mut timespec) -> bool {
    let Some(ns) = may_park().and_then(|_| time_of_run(clock)) else { return false };
    // SAFETY: as the caller says.
    unsafe { time.write(timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 }) };
    true
}

/// Puts the run's numbers in place of those that `getrandom` has returned, if the caller is in a
/// run.
///
/// # Safety
/// There are as many bytes, which are the caller's.
#[cold]
#[inline(never)]
pub(super) unsafe fn getrandom(buf: *mut c_void, len: usize) {
    if live() {
        // SAFETY: as the caller says.
        fill_from_run(unsafe { slice::from_raw_parts_mut(buf.cast(), len) });
    }
}
