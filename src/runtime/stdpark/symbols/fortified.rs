//! Functions that C code compiled with `_FORTIFY_SOURCE` calls instead of some of the others. The
//! size of the buffer is an argument, and a buffer that is too small ends the process.

use std::ffi::{c_int, c_void};

use libc::{nfds_t, pollfd, sigset_t, size_t, sockaddr, socklen_t, ssize_t, timespec};

use crate::runtime::stdpark::symbols::{files, polls, sockets};

unsafe extern "C" {
    /// The C library's function that reports a buffer overflow, and ends the process.
    fn __chk_fail() -> !;
}

/// Ends the process if `len` is larger than `room`.
#[inline(always)]
fn check(len: usize, room: usize) {
    if len > room {
        // SAFETY: it takes nothing, and doesn't return.
        unsafe { __chk_fail() }
    }
}

/// Ends the process unless `n` pollfds fit into `room` bytes.
#[inline(always)]
fn check_fds(n: nfds_t, room: size_t) {
    check((n as usize).saturating_mul(size_of::<pollfd>()), room);
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn __read_chk(fd: c_int, buf: *mut c_void, len: size_t, room: size_t) -> ssize_t {
    check(len, room);
    // SAFETY: the program keeps to the C library's contract of `__read_chk`.
    unsafe { files::read(fd, buf, len) }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn __recv_chk(
    fd: c_int,
    buf: *mut c_void,
    len: size_t,
    room: size_t,
    flags: c_int,
) -> ssize_t {
    check(len, room);
    // SAFETY: the program keeps to the C library's contract of `__recv_chk`.
    unsafe { sockets::recv(fd, buf, len, flags) }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn __recvfrom_chk(
    fd: c_int,
    buf: *mut c_void,
    len: size_t,
    room: size_t,
    flags: c_int,
    addr: *mut sockaddr,
    addr_len: *mut socklen_t,
) -> ssize_t {
    check(len, room);
    // SAFETY: the program keeps to the C library's contract of `__recvfrom_chk`.
    unsafe { sockets::recvfrom(fd, buf, len, flags, addr, addr_len) }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn __poll_chk(fds: *mut pollfd, n: nfds_t, ms: c_int, room: size_t) -> c_int {
    check_fds(n, room);
    // SAFETY: the program keeps to the C library's contract of `__poll_chk`.
    unsafe { polls::poll(fds, n, ms) }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn __ppoll_chk(
    fds: *mut pollfd,
    n: nfds_t,
    limit: *const timespec,
    mask: *const sigset_t,
    room: size_t,
) -> c_int {
    check_fds(n, room);
    // SAFETY: the program keeps to the C library's contract of `__ppoll_chk`.
    unsafe { polls::ppoll(fds, n, limit, mask) }
}
