//! Numbers of descriptors that are closed, or become other descriptions'.

use std::ffi::{c_int, c_uint};
use std::os::fd::RawFd;

use crate::runtime::arch::raw;
use crate::runtime::arch::syscall::{result_of, syscall};
use crate::runtime::stdpark::descriptors::{after_close, before_close, is_waited_for, top};
use crate::runtime::stdpark::live::live;
use crate::runtime::stdpark::operation::EBADF;
use crate::runtime::stdpark::symbols::changes::duplicate;

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(fd: c_int) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        if live() {
            return live_close(fd);
        }
        syscall!(SYS_close, fd) as c_int
    }
}

/// # Safety
/// As `close`.
#[cold]
#[inline(never)]
unsafe fn live_close(fd: RawFd) -> c_int {
    before_close(fd);
    // SAFETY: as the caller says.
    let ret = unsafe { raw(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) };
    after_close(fd);
    result_of(ret) as c_int
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup2(old: c_int, new: c_int) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        if old != new {
            return dup3(old, new, 0);
        }
        // `dup3` refuses that.
        if syscall!(SYS_fcntl, old, libc::F_GETFD) < 0 { -1 } else { new }
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        if live() {
            return live_dup3(old, new, flags);
        }
        syscall!(SYS_dup3, old, new, flags) as c_int
    }
}

/// # Safety
/// As `dup3`.
#[cold]
#[inline(never)]
unsafe fn live_dup3(old: RawFd, new: RawFd, flags: c_int) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        // A call that fails closes nothing.
        if is_waited_for(new) && raw(libc::SYS_fcntl, [old as usize, libc::F_GETFD as usize, 0, 0, 0, 0]) < 0
        {
            return result_of(EBADF) as c_int;
        }
        if old != new {
            before_close(new);
        }
        let ret = raw(libc::SYS_dup3, [old as usize, new as usize, flags as usize, 0, 0, 0]);
        after_close(new);
        duplicate(old, ret)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    let closes = live() && flags & libc::CLOSE_RANGE_CLOEXEC as c_int == 0;
    let end = if closes { top().min(last.saturating_add(1)) } else { 0 };
    (first..end).for_each(|fd| before_close(fd as RawFd));
    // SAFETY: as the caller says.
    let ret = unsafe { syscall!(SYS_close_range, first, last, flags) } as c_int;
    (first..end).for_each(|fd| after_close(fd as RawFd));
    ret
}
