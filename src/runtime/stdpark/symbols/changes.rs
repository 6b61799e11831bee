//! Calls that make a socket, after which something else is set for a descriptor, or another number
//! has its description, too: see `known.rs`. `fcntl` is here, with all that it does.

use std::ffi::{c_int, c_ulong, c_void};

use libc::socklen_t;

use crate::runtime::arch::raw;
use crate::runtime::arch::syscall::result_of;
use crate::runtime::stdpark::descriptors::{is_new, is_shared, may_have_changed};
use crate::runtime::stdpark::live::live;
use crate::runtime::stdpark::symbols::long_calls::waiting_call;

/// A call has returned `ret` that may have changed what is set for a descriptor.
fn change(fd: c_int, ret: isize) -> c_int {
    if live() {
        may_have_changed(fd);
    }
    result_of(ret) as c_int
}

/// A call has returned another number for a descriptor's description, or an error.
pub(super) fn duplicate(fd: c_int, ret: isize) -> c_int {
    if live() && ret >= 0 {
        is_shared(fd);
        is_shared(ret as c_int);
    }
    result_of(ret) as c_int
}

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
    // SAFETY: as the caller says.
    let ret = unsafe { raw(libc::SYS_setsockopt, args) };
    // A wait heeds times and sizes, and what is put on top of a connection.
    if level == libc::SOL_SOCKET || level == libc::IPPROTO_TCP && option == libc::TCP_ULP {
        return change(fd, ret);
    }
    result_of(ret) as c_int
}

/// `ioctl`, with an argument of any type, if it has one.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, arg: usize) -> c_int {
    // SAFETY: as the caller says.
    let ret = unsafe { raw(libc::SYS_ioctl, [fd as usize, request as usize, arg, 0, 0, 0]) };
    if request == libc::FIONBIO as c_ulong { change(fd, ret) } else { result_of(ret) as c_int }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup(fd: c_int) -> c_int {
    // SAFETY: as the caller says.
    duplicate(fd, unsafe { raw(libc::SYS_dup, [fd as usize, 0, 0, 0, 0, 0]) })
}

/// `fcntl`, with an argument of any type, if it has one.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl(fd: c_int, command: c_int, arg: usize) -> c_int {
    let args = [fd as usize, command as usize, arg, 0, 0, 0];
    // SAFETY: as the caller says.
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

/// The process that a descriptor's signals are for, or the group, as a negative number. The
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
