//! Numbers of descriptors, and their settings: calls that make a socket, change a setting, close a
//! number, or give a description another number. See `known.rs`. `fcntl` is here, with all of its
//! commands.

use std::ffi::{c_int, c_uint, c_ulong, c_void};
use std::os::fd::RawFd;

use libc::socklen_t;

use crate::runtime::arch::raw;
use crate::runtime::arch::syscall::{result_of, syscall};
use crate::runtime::stdpark::descriptors::{
    after_close, before_close, is_new, is_shared, is_waited_for, may_have_changed, top,
};
use crate::runtime::stdpark::gate::live;
use crate::runtime::stdpark::operation::EBADF;
use crate::runtime::stdpark::symbols::files::waiting_call;

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn socket(domain: c_int, sort: c_int, protocol: c_int) -> c_int {
    // SAFETY: no memory is passed.
    let ret = unsafe { raw(libc::SYS_socket, [domain as usize, sort as usize, protocol as usize, 0, 0, 0]) };
    if live() && ret >= 0 {
        is_new(ret as c_int);
    }
    result_of(ret) as c_int
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setsockopt(
    fd: c_int,
    level: c_int,
    option: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    let args = [fd as usize, level as usize, option as usize, value as usize, len as usize, 0];
    // SAFETY: the program keeps to the C library's contract of `setsockopt`.
    let ret = unsafe { raw(libc::SYS_setsockopt, args) };
    // A wait depends on time limits, sizes, and protocols on top of a connection.
    if level == libc::SOL_SOCKET || level == libc::IPPROTO_TCP && option == libc::TCP_ULP {
        return change(fd, ret);
    }
    result_of(ret) as c_int
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(fd: c_int) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `close`.
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
    // SAFETY: the caller keeps to the contract of `close`.
    let ret = unsafe { raw(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) };
    after_close(fd);
    result_of(ret) as c_int
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    let closes = live() && flags & libc::CLOSE_RANGE_CLOEXEC as c_int == 0;
    let end = if closes { top().min(last.saturating_add(1)) } else { 0 };
    (first..end).for_each(|fd| before_close(fd as RawFd));
    // SAFETY: the program keeps to the C library's contract of `close_range`.
    let ret = unsafe { syscall!(SYS_close_range, first, last, flags) } as c_int;
    (first..end).for_each(|fd| after_close(fd as RawFd));
    ret
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup(fd: c_int) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `dup`.
    duplicate(fd, unsafe { raw(libc::SYS_dup, [fd as usize, 0, 0, 0, 0, 0]) })
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup2(old: c_int, new: c_int) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `dup2`.
    unsafe {
        if old != new {
            return dup3(old, new, 0);
        }
        // `dup3` refuses equal numbers.
        if syscall!(SYS_fcntl, old, libc::F_GETFD) < 0 { -1 } else { new }
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `dup3`.
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
    // SAFETY: the caller keeps to the contract of `dup3`.
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

/// `ioctl`, with an argument of any type, if it has one.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, arg: usize) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `ioctl`.
    let ret = unsafe { raw(libc::SYS_ioctl, [fd as usize, request as usize, arg, 0, 0, 0]) };
    if request == libc::FIONBIO as c_ulong { change(fd, ret) } else { result_of(ret) as c_int }
}

/// `fcntl`, with an argument of any type, if it has one.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl(fd: c_int, command: c_int, arg: usize) -> c_int {
    let args = [fd as usize, command as usize, arg, 0, 0, 0];
    // SAFETY: the program keeps to the C library's contract of `fcntl`.
    unsafe {
        match command {
            libc::F_SETLKW | libc::F_OFD_SETLKW => waiting_call(libc::SYS_fcntl, args) as c_int,
            libc::F_GETOWN => owner(fd),
            libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => duplicate(fd, raw(libc::SYS_fcntl, args)),
            libc::F_SETFL => change(fd, raw(libc::SYS_fcntl, args)),
            _ => result_of(raw(libc::SYS_fcntl, args)) as c_int,
        }
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl64(fd: c_int, command: c_int, arg: usize) -> c_int {
    // SAFETY: as the caller says: the types are the same.
    unsafe { fcntl(fd, command, arg) }
}

/// Returns the process that gets a descriptor's signals, or the group, as a negative number. The
/// kernel's own `F_GETOWN` would return an error for some groups.
fn owner(fd: c_int) -> c_int {
    const F_GETOWN_EX: usize = 16;
    const F_OWNER_PGRP: c_int = 2;
    let mut owner: [c_int; 2] = [0, 0];
    // SAFETY: the kernel writes the sort of owner, and its number.
    let ret =
        unsafe { raw(libc::SYS_fcntl, [fd as usize, F_GETOWN_EX, owner.as_mut_ptr() as usize, 0, 0, 0]) };
    match owner {
        _ if ret < 0 => result_of(ret) as c_int,
        [F_OWNER_PGRP, group] => -group,
        [_, process] => process,
    }
}

/// Ends a call that has returned `ret` and may have changed the settings of a descriptor.
fn change(fd: c_int, ret: isize) -> c_int {
    if live() {
        may_have_changed(fd);
    }
    result_of(ret) as c_int
}

/// Ends a call that has returned another number for a descriptor's description, or an error.
fn duplicate(fd: c_int, ret: isize) -> c_int {
    if live() && ret >= 0 {
        is_shared(fd);
        is_shared(ret as c_int);
    }
    result_of(ret) as c_int
}
