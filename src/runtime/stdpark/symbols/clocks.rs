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
        // The kernel says what is wrong with the arguments, and how many it returns at once.
        let ret = syscall!(SYS_getrandom, buf, len, flags);
        if ret > 0 && exploring() {
            explored::getrandom(buf, ret as usize);
        }
        ret
    }
}
