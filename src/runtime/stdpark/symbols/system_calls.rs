//! `syscall`, by which std's locks wait and wake.

use std::ffi::c_long;
use std::os::fd::RawFd;

use crate::runtime::arch::raw;
use crate::runtime::arch::syscall::{result_of, syscall_words};
use crate::runtime::stdpark::descriptors::{after_close, before_close};
use crate::runtime::stdpark::futex::{Call, SYS_FUTEX_REQUEUE, SYS_FUTEX_WAKE};
use crate::runtime::stdpark::live::live;

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
    let is_futex = number == libc::SYS_futex || (SYS_FUTEX_WAKE..=SYS_FUTEX_REQUEUE).contains(&number);
    // SAFETY: as the caller says.
    unsafe {
        if (is_futex || number == libc::SYS_close) && live() {
            return live_call(number, a, b, c, d, e, f);
        }
        syscall_words(number, [a, b, c, d, e, f]) as c_long
    }
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
    let ret = unsafe {
        if number == libc::SYS_close {
            let fd = a as RawFd;
            before_close(fd);
            let ret = raw(number, args);
            after_close(fd);
            ret
        } else {
            Call { number, args }.run()
        }
    };
    result_of(ret) as c_long
}
