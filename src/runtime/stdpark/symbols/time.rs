//! Sleeps and yields, the time, and random numbers. In an exploration the time and the numbers come
//! from the run.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use libc::{clockid_t, size_t, ssize_t, timespec};

use crate::runtime::arch::raw;
use crate::runtime::arch::syscall::{result_of, syscall};
use crate::runtime::base::vdso;
use crate::runtime::g::explored::exploring;
use crate::runtime::stdpark::time;

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    request: *const timespec,
    rest: *mut timespec,
) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `clock_nanosleep`.
    unsafe {
        // This function returns its error.
        if let Some(ret) = time::sleep(clock, flags, request, rest) {
            return -ret as c_int;
        }
        let args = [clock as usize, flags as usize, request as usize, rest as usize, 0, 0];
        -raw(libc::SYS_clock_nanosleep, args) as c_int
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn nanosleep(request: *const timespec, rest: *mut timespec) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `nanosleep`.
    unsafe {
        let by_kernel = || raw(libc::SYS_nanosleep, [request as usize, rest as usize, 0, 0, 0, 0]);
        let slept = time::sleep(libc::CLOCK_MONOTONIC, 0, request, rest);
        result_of(slept.unwrap_or_else(by_kernel)) as c_int
    }
}

/// # Safety
/// None is needed.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn usleep(us: c_uint) -> c_int {
    let time = timespec { tv_sec: i64::from(us / 1_000_000), tv_nsec: i64::from(us % 1_000_000) * 1000 };
    // SAFETY: a time of ours, and no place for the rest.
    unsafe { nanosleep(&time, ptr::null_mut()) }
}

/// # Safety
/// None is needed.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let mut time = timespec { tv_sec: i64::from(seconds), tv_nsec: 0 };
    // SAFETY: a time of ours, which also takes the rest.
    match unsafe { nanosleep(&time, &mut time) } {
        0 => 0,
        // Rounded, as in the C library.
        _ => time.tv_sec as c_uint + c_uint::from(time.tv_nsec >= 500_000_000),
    }
}

/// # Safety
/// None is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_yield() -> c_int {
    if time::yield_now() {
        return 0;
    }
    // SAFETY: no arguments.
    result_of(unsafe { raw(libc::SYS_sched_yield, [0; 6]) }) as c_int
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `clock_gettime`.
    unsafe {
        if exploring() && time::clock_gettime(clock, time) {
            return 0;
        }
        result_of(vdso::clock_gettime(clock, time)) as c_int
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buf: *mut c_void, len: size_t, flags: c_uint) -> ssize_t {
    // SAFETY: the program keeps to the C library's contract of `getrandom`.
    unsafe {
        // The kernel checks the arguments, and decides how many bytes it returns at once.
        let ret = syscall!(SYS_getrandom, buf, len, flags);
        if ret > 0 && exploring() {
            time::getrandom(buf, ret as usize);
        }
        ret
    }
}
