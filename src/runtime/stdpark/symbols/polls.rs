//! Polls of descriptors, and of epoll instances.

use std::ffi::c_int;
use std::ptr;

use libc::{epoll_event, fd_set, nfds_t, pollfd, sigset_t, timespec, timeval};

use crate::runtime::arch::syscall::{result_of, syscall};
use crate::runtime::stdpark::gate::may_have_to_park;
use crate::runtime::stdpark::polling::{self, Sets, time_of_milliseconds};

/// The size of the kernel's signal masks.
const MASK_SIZE: usize = 8;

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn poll(fds: *mut pollfd, n: nfds_t, ms: c_int) -> c_int {
    // SAFETY: as the caller says. The kernel changes the limit, which is a copy.
    unsafe {
        if may_have_to_park() {
            return polling::poll(fds, n, ms) as c_int;
        }
        let mut limit = time_of_milliseconds(ms);
        let limit = limit.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
        syscall!(SYS_ppoll, fds, n, limit, 0, MASK_SIZE) as c_int
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn ppoll(
    fds: *mut pollfd,
    n: nfds_t,
    limit: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: as the caller says. The kernel changes the limit, so it gets a copy.
    unsafe {
        if may_have_to_park() {
            return polling::ppoll(fds, n, limit, mask) as c_int;
        }
        let mut limit = limit.as_ref().copied();
        let limit = limit.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
        syscall!(SYS_ppoll, fds, n, limit, mask, MASK_SIZE) as c_int
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn select(
    n: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    limit: *mut timeval,
) -> c_int {
    // SAFETY: as the caller says. Programs don't call this often, so it isn't split in two.
    unsafe { polling::select(n, Sets { read, write, except }, limit) as c_int }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn pselect(
    n: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    limit: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: as the caller says. The kernel changes the limit, so it gets a copy.
    unsafe {
        let mut limit = limit.as_ref().copied();
        let limit = limit.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
        result_of(polling::pselect(n, Sets { read, write, except }, limit, mask)) as c_int
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn epoll_wait(fd: c_int, events: *mut epoll_event, n: c_int, ms: c_int) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `epoll_wait`.
    unsafe { epoll_pwait(fd, events, n, ms, ptr::null()) }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn epoll_pwait(
    fd: c_int,
    events: *mut epoll_event,
    n: c_int,
    ms: c_int,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `epoll_pwait`.
    unsafe {
        if may_have_to_park() {
            return polling::epoll_pwait(fd, events, n, ms, mask) as c_int;
        }
        syscall!(SYS_epoll_pwait, fd, events, n, ms, mask, MASK_SIZE) as c_int
    }
}
