//! `syscall`: std's locks wait and wake by it, and some crates ask for random numbers by it.

use std::ffi::{c_long, c_uint};
use std::os::fd::RawFd;
use std::ptr;

use libc::clockid_t;

use crate::runtime::arch::raw;
use crate::runtime::arch::syscall::{result_of, syscall_words};
use crate::runtime::stdpark::descriptors::{after_close, before_close};
use crate::runtime::stdpark::futex::{Call, SYS_FUTEX_REQUEUE, SYS_FUTEX_WAKE, is_wake_of_threads};
use crate::runtime::stdpark::gate::live;
use crate::runtime::stdpark::symbols::time::{clock_gettime, getrandom};

/// `syscall`, which has as many arguments as the system call. (If there are fewer than six, the
/// values in the other registers and on the stack are passed, and ignored.)
///
/// # Safety
/// As that system call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    // SAFETY: the caller keeps to the contract of the system call.
    unsafe {
        if live() && !is_wake_of_threads(number, a, b) && is_ours(number) {
            return live_call(number, a, b, c, d, e, f);
        }
        syscall_words(number, [a, b, c, d, e, f]) as c_long
    }
}

/// Whether this crate does more than make the system call, while waits park.
#[inline(always)]
fn is_ours(number: c_long) -> bool {
    matches!(
        number,
        libc::SYS_futex | SYS_FUTEX_WAKE
            ..=SYS_FUTEX_REQUEUE | libc::SYS_close | libc::SYS_getrandom | libc::SYS_clock_gettime
    )
}

/// A separate function with the same arguments, so that the plain call saves no registers.
///
/// # Safety
/// As that system call.
#[cold]
#[inline(never)]
unsafe extern "C" fn live_call(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let args = [a, b, c, d, e, f];
    // SAFETY: the caller keeps to the contract of the system call.
    unsafe {
        let ret = match number {
            libc::SYS_getrandom => return getrandom(pointer(a), b, c as c_uint) as c_long,
            libc::SYS_clock_gettime => return c_long::from(clock_gettime(a as clockid_t, pointer(b))),
            libc::SYS_close => {
                let fd = a as RawFd;
                before_close(fd);
                let ret = raw(number, args);
                after_close(fd);
                ret
            }
            _ => Call { number, args }.run(),
        };
        result_of(ret) as c_long
    }
}

/// Returns the pointer for an address that the program has passed as a number.
fn pointer<T>(address: usize) -> *mut T {
    ptr::with_exposed_provenance_mut(address)
}
