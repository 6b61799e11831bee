//! Sockets, and names of hosts. While a name is looked up, the goroutine keeps its thread, and
//! others get the P at once.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem;
use std::ptr;

use libc::{addrinfo, mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t, timespec};

use crate::runtime::arch::syscall::syscall;
#[cfg(not(target_feature = "crt-static"))]
use crate::runtime::arch::weak_function;
use crate::runtime::stdpark::gate::may_have_to_park;
use crate::runtime::stdpark::operation::in_kernel;
use crate::runtime::stdpark::socket;

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn recv(fd: c_int, buf: *mut c_void, len: size_t, flags: c_int) -> ssize_t {
    // SAFETY: the program keeps to the C library's contract of `recv`.
    unsafe {
        if may_have_to_park() {
            return socket::recvfrom(fd, buf, len, flags, ptr::null_mut(), ptr::null_mut());
        }
        syscall!(SYS_recvfrom, fd, buf, len, flags, 0, 0)
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn recvfrom(
    fd: c_int,
    buf: *mut c_void,
    len: size_t,
    flags: c_int,
    addr: *mut sockaddr,
    addr_len: *mut socklen_t,
) -> ssize_t {
    // SAFETY: the program keeps to the C library's contract of `recvfrom`.
    unsafe {
        if may_have_to_park() {
            return socket::recvfrom(fd, buf, len, flags, addr, addr_len);
        }
        syscall!(SYS_recvfrom, fd, buf, len, flags, addr, addr_len)
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn recvmsg(fd: c_int, msg: *mut msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the program keeps to the C library's contract of `recvmsg`.
    unsafe {
        if may_have_to_park() {
            return socket::recvmsg(fd, msg, flags);
        }
        syscall!(SYS_recvmsg, fd, msg, flags)
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn recvmmsg(
    fd: c_int,
    msgs: *mut mmsghdr,
    n: c_uint,
    flags: c_int,
    limit: *mut timespec,
) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `recvmmsg`.
    unsafe {
        if may_have_to_park() {
            return socket::recvmmsg(fd, msgs, n, flags, limit) as c_int;
        }
        syscall!(SYS_recvmmsg, fd, msgs, n, flags, limit) as c_int
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn send(fd: c_int, buf: *const c_void, len: size_t, flags: c_int) -> ssize_t {
    // SAFETY: the program keeps to the C library's contract of `send`.
    unsafe {
        if may_have_to_park() {
            return socket::sendto(fd, buf, len, flags, ptr::null(), 0);
        }
        syscall!(SYS_sendto, fd, buf, len, flags, 0, 0)
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn sendto(
    fd: c_int,
    buf: *const c_void,
    len: size_t,
    flags: c_int,
    addr: *const sockaddr,
    addr_len: socklen_t,
) -> ssize_t {
    // SAFETY: the program keeps to the C library's contract of `sendto`.
    unsafe {
        if may_have_to_park() {
            return socket::sendto(fd, buf, len, flags, addr, addr_len);
        }
        syscall!(SYS_sendto, fd, buf, len, flags, addr, addr_len)
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn sendmsg(fd: c_int, msg: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the program keeps to the C library's contract of `sendmsg`.
    unsafe {
        if may_have_to_park() {
            return socket::sendmsg(fd, msg, flags);
        }
        syscall!(SYS_sendmsg, fd, msg, flags)
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn sendmmsg(fd: c_int, msgs: *mut mmsghdr, n: c_uint, flags: c_int) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `sendmmsg`.
    unsafe {
        if may_have_to_park() {
            return socket::sendmmsg(fd, msgs, n, flags) as c_int;
        }
        syscall!(SYS_sendmmsg, fd, msgs, n, flags) as c_int
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn accept(fd: c_int, addr: *mut sockaddr, addr_len: *mut socklen_t) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `accept`.
    unsafe {
        if may_have_to_park() {
            return socket::accept4(fd, addr, addr_len, 0) as c_int;
        }
        syscall!(SYS_accept4, fd, addr, addr_len, 0) as c_int
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn accept4(
    fd: c_int,
    addr: *mut sockaddr,
    addr_len: *mut socklen_t,
    flags: c_int,
) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `accept4`.
    unsafe {
        if may_have_to_park() {
            return socket::accept4(fd, addr, addr_len, flags) as c_int;
        }
        syscall!(SYS_accept4, fd, addr, addr_len, flags) as c_int
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn connect(fd: c_int, addr: *const sockaddr, len: socklen_t) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `connect`.
    unsafe {
        if may_have_to_park() {
            return socket::connect(fd, addr, len) as c_int;
        }
        syscall!(SYS_connect, fd, addr, len) as c_int
    }
}

// Weak, because a C program that is linked statically has the C library's function, which is in one
// file with `freeaddrinfo`.
#[cfg(not(target_feature = "crt-static"))]
weak_function!("getaddrinfo", getaddrinfo);

/// `getaddrinfo`, by the C library's function, which reads files and asks servers.
///
/// # Safety
/// As the C library's.
#[cfg(not(target_feature = "crt-static"))]
unsafe extern "C" fn getaddrinfo(
    node: *const c_char,
    service: *const c_char,
    hints: *const addrinfo,
    found: *mut *mut addrinfo,
) -> c_int {
    type Getaddrinfo =
        unsafe extern "C" fn(*const c_char, *const c_char, *const addrinfo, *mut *mut addrinfo) -> c_int;
    // SAFETY: the next function of that name is the C library's, and has this type.
    let next = unsafe {
        mem::transmute::<*mut _, Option<Getaddrinfo>>(libc::dlsym(libc::RTLD_NEXT, c"getaddrinfo".as_ptr()))
    };
    let Some(next) = next else { return libc::EAI_SYSTEM };
    // SAFETY: the program keeps to the C library's contract of `getaddrinfo`.
    let call = || unsafe { next(node, service, hints, found) as isize };
    (if may_have_to_park() { in_kernel(&call) } else { call() }) as c_int
}
