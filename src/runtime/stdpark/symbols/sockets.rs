//! Sockets.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use libc::{mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t, timespec};

use crate::runtime::arch::syscall::syscall;
use crate::runtime::stdpark::gate::may_have_to_park;
use crate::runtime::stdpark::socket;

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recv(fd: c_int, buf: *mut c_void, len: size_t, flags: c_int) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe {
        if may_have_to_park() {
            return socket::recvfrom(fd, buf, len, flags, ptr::null_mut(), ptr::null_mut());
        }
        syscall!(SYS_recvfrom, fd, buf, len, flags, 0, 0)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvfrom(
    fd: c_int,
    buf: *mut c_void,
    len: size_t,
    flags: c_int,
    addr: *mut sockaddr,
    addr_len: *mut socklen_t,
) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe {
        if may_have_to_park() {
            return socket::recvfrom(fd, buf, len, flags, addr, addr_len);
        }
        syscall!(SYS_recvfrom, fd, buf, len, flags, addr, addr_len)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvmsg(fd: c_int, msg: *mut msghdr, flags: c_int) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe {
        if may_have_to_park() {
            return socket::recvmsg(fd, msg, flags);
        }
        syscall!(SYS_recvmsg, fd, msg, flags)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvmmsg(
    fd: c_int,
    msgs: *mut mmsghdr,
    n: c_uint,
    flags: c_int,
    limit: *mut timespec,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        if may_have_to_park() {
            return socket::recvmmsg(fd, msgs, n, flags, limit) as c_int;
        }
        syscall!(SYS_recvmmsg, fd, msgs, n, flags, limit) as c_int
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn send(fd: c_int, buf: *const c_void, len: size_t, flags: c_int) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe {
        if may_have_to_park() {
            return socket::sendto(fd, buf, len, flags, ptr::null(), 0);
        }
        syscall!(SYS_sendto, fd, buf, len, flags, 0, 0)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendto(
    fd: c_int,
    buf: *const c_void,
    len: size_t,
    flags: c_int,
    addr: *const sockaddr,
    addr_len: socklen_t,
) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe {
        if may_have_to_park() {
            return socket::sendto(fd, buf, len, flags, addr, addr_len);
        }
        syscall!(SYS_sendto, fd, buf, len, flags, addr, addr_len)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendmsg(fd: c_int, msg: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe {
        if may_have_to_park() {
            return socket::sendmsg(fd, msg, flags);
        }
        syscall!(SYS_sendmsg, fd, msg, flags)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendmmsg(fd: c_int, msgs: *mut mmsghdr, n: c_uint, flags: c_int) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        if may_have_to_park() {
            return socket::sendmmsg(fd, msgs, n, flags) as c_int;
        }
        syscall!(SYS_sendmmsg, fd, msgs, n, flags) as c_int
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn accept(fd: c_int, addr: *mut sockaddr, addr_len: *mut socklen_t) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        if may_have_to_park() {
            return socket::accept4(fd, addr, addr_len, 0) as c_int;
        }
        syscall!(SYS_accept4, fd, addr, addr_len, 0) as c_int
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn accept4(
    fd: c_int,
    addr: *mut sockaddr,
    addr_len: *mut socklen_t,
    flags: c_int,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        if may_have_to_park() {
            return socket::accept4(fd, addr, addr_len, flags) as c_int;
        }
        syscall!(SYS_accept4, fd, addr, addr_len, flags) as c_int
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn connect(fd: c_int, addr: *const sockaddr, len: socklen_t) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        if may_have_to_park() {
            return socket::connect(fd, addr, len) as c_int;
        }
        syscall!(SYS_connect, fd, addr, len) as c_int
    }
}
