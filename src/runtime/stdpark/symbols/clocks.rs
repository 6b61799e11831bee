//! The time, and random numbers: in an exploration they are the run's.

use std::ffi::{c_int, c_uint, c_void};

use libc::{clockid_t, size_t, ssize_t, timespec};

use crate::runtime::arch::syscall::{result_of, syscall};
use crate::runtime::base::vdso;
use crate::runtime::g::explored::exploring;
use crate::runtime::stdpark::explored;

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        if exploring() && explored::clock_gettime(clock, time) {
            return 0;
        }
        result_of(vdso::clock_gettime(clock, time)) as c_int
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buf: *mut c_void, len: size_t, flags: c_uint) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe {
        if exploring() && explored::getrandom(buf, len) {
            return len as ssize_t;
        }
        syscall!(SYS_getrandom, buf, len, flags)
    }
}
