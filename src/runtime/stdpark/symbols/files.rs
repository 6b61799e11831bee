//! Reads and writes.

use std::ffi::{c_int, c_void};

use libc::{iovec, size_t, ssize_t};

use crate::runtime::arch::syscall::syscall;
use crate::runtime::stdpark::file;
use crate::runtime::stdpark::gate::may_have_to_park;

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(fd: c_int, buf: *mut c_void, len: size_t) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe {
        if may_have_to_park() {
            return file::read(fd, buf, len);
        }
        syscall!(SYS_read, fd, buf, len)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readv(fd: c_int, buffers: *const iovec, n: c_int) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe {
        if may_have_to_park() {
            return file::readv(fd, buffers, n);
        }
        syscall!(SYS_readv, fd, buffers, n)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(fd: c_int, buf: *const c_void, len: size_t) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe {
        if may_have_to_park() {
            return file::write(fd, buf, len);
        }
        syscall!(SYS_write, fd, buf, len)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn writev(fd: c_int, buffers: *const iovec, n: c_int) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe {
        if may_have_to_park() {
            return file::writev(fd, buffers, n);
        }
        syscall!(SYS_writev, fd, buffers, n)
    }
}
