//! `syscall`, by which std's locks wait and wake, and by which some crates ask for random numbers.

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

/// `syscall`, which has as many arguments as the call. (Where it has fewer than six, what is in the
/// other registers, and on the stack, is passed, and not looked at.)
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
    // SAFETY: as the caller says.
    unsafe {
        if live() && !is_wake_of_threads(number, a, b) && is_ours(number) {
            return live_call(number, a, b, c, d, e, f);
        }
        syscall_words(number, [a, b, c, d, e, f]) as c_long
    }
}

/// Whether more than the system call is done here, while waits park.
#[inline(always)]
fn is_ours(number: c_long) -> bool {
    matches!(
        number,
        libc::SYS_futex | SYS_FUTEX_WAKE
            ..=SYS_FUTEX_REQUEUE | libc::SYS_close | libc::SYS_getrandom | libc::SYS_clock_gettime
    )
}

/// A function of its own, with the same arguments: the plain call saves no registers for it.
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
    // SAFETY: as the caller says.
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

/// An address that the program has passed as a number.
fn pointer<T>(address: usize) -> *mut T {
    ptr::with_exposed_provenance_mut(address)
}
