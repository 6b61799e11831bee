//! Reads and writes, and calls on files that may take long, or that wait for something the kernel
//! doesn't report, such as a lock of a file. In such a call the goroutine keeps its thread, and
//! others get the P at once, without a signal.

use std::ffi::{c_int, c_long, c_uint, c_void};

use libc::{iovec, off_t, off64_t, size_t, ssize_t};

use crate::runtime::arch::raw;
use crate::runtime::arch::syscall::{result_of, syscall};
use crate::runtime::stdpark::file;
use crate::runtime::stdpark::gate::may_have_to_park;
use crate::runtime::stdpark::operation::{hand_on, in_kernel};

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn read(fd: c_int, buf: *mut c_void, len: size_t) -> ssize_t {
    // SAFETY: the program keeps to the C library's contract of `read`.
    unsafe {
        if may_have_to_park() {
            return file::read(fd, buf, len);
        }
        syscall!(SYS_read, fd, buf, len)
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn readv(fd: c_int, buffers: *const iovec, n: c_int) -> ssize_t {
    // SAFETY: the program keeps to the C library's contract of `readv`.
    unsafe {
        if may_have_to_park() {
            return file::readv(fd, buffers, n);
        }
        syscall!(SYS_readv, fd, buffers, n)
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn write(fd: c_int, buf: *const c_void, len: size_t) -> ssize_t {
    // SAFETY: the program keeps to the C library's contract of `write`.
    unsafe {
        if may_have_to_park() {
            return file::write(fd, buf, len);
        }
        syscall!(SYS_write, fd, buf, len)
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn writev(fd: c_int, buffers: *const iovec, n: c_int) -> ssize_t {
    // SAFETY: the program keeps to the C library's contract of `writev`.
    unsafe {
        if may_have_to_park() {
            return file::writev(fd, buffers, n);
        }
        syscall!(SYS_writev, fd, buffers, n)
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `fsync`.
    unsafe { long_call(libc::SYS_fsync, [fd as usize, 0, 0, 0, 0, 0]) as c_int }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn fdatasync(fd: c_int) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `fdatasync`.
    unsafe { long_call(libc::SYS_fdatasync, [fd as usize, 0, 0, 0, 0, 0]) as c_int }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn copy_file_range(
    from: c_int,
    from_at: *mut off64_t,
    to: c_int,
    to_at: *mut off64_t,
    len: size_t,
    flags: c_uint,
) -> ssize_t {
    let args = [from as usize, from_at as usize, to as usize, to_at as usize, len, flags as usize];
    // SAFETY: the program keeps to the C library's contract of `copy_file_range`.
    unsafe { long_call(libc::SYS_copy_file_range, args) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendfile(to: c_int, from: c_int, at: *mut off_t, len: size_t) -> ssize_t {
    // SAFETY: the program keeps to the C library's contract of `sendfile`.
    unsafe {
        if may_have_to_park() {
            return file::sendfile(to, from, at, len);
        }
        syscall!(SYS_sendfile, to, from, at, len)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendfile64(to: c_int, from: c_int, at: *mut off64_t, len: size_t) -> ssize_t {
    // SAFETY: as the caller says: the types are the same.
    unsafe { sendfile(to, from, at, len) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn splice(
    from: c_int,
    from_at: *mut off64_t,
    to: c_int,
    to_at: *mut off64_t,
    len: size_t,
    flags: c_uint,
) -> ssize_t {
    let args = [from as usize, from_at as usize, to as usize, to_at as usize, len, flags as usize];
    // SAFETY: the program keeps to the C library's contract of `splice`.
    unsafe { waiting_call(libc::SYS_splice, args) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flock(fd: c_int, operation: c_int) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `flock`.
    unsafe { waiting_call(libc::SYS_flock, [fd as usize, operation as usize, 0, 0, 0, 0]) as c_int }
}

/// Makes a call that ends by itself.
///
/// # Safety
/// As that system call.
#[inline(always)]
unsafe fn long_call(number: c_long, args: [usize; 6]) -> isize {
    // SAFETY: the caller keeps to the contract of the system call.
    unsafe {
        if may_have_to_park() {
            return on_goroutine(number, &args, hand_on);
        }
        result_of(raw(number, args))
    }
}

/// Makes a call that waits for another process, perhaps forever, and that a signal ends.
///
/// # Safety
/// As that system call.
#[inline(always)]
pub(super) unsafe fn waiting_call(number: c_long, args: [usize; 6]) -> isize {
    // SAFETY: the caller keeps to the contract of the system call.
    unsafe {
        if may_have_to_park() {
            return on_goroutine(number, &args, in_kernel);
        }
        result_of(raw(number, args))
    }
}

/// The cold half of both functions, for a goroutine.
#[cold]
#[inline(never)]
unsafe fn on_goroutine(number: c_long, args: &[usize; 6], how: fn(&dyn Fn() -> isize) -> isize) -> isize {
    // SAFETY: the caller keeps to the contract of the system call, as long_call and waiting_call
    // require.
    result_of(how(&|| unsafe { raw(number, *args) }))
}
