//! Calls that may take long, or wait for what the kernel doesn't report: files, locks of files,
//! names of hosts. The goroutine keeps its thread, and others have the P at once: no signal has to
//! take it away.

use std::ffi::{c_char, c_int, c_long, c_uint};
use std::mem;

use libc::{addrinfo, off_t, off64_t, size_t, ssize_t};

use crate::runtime::arch::raw;
use crate::runtime::arch::syscall::{result_of, syscall};
#[cfg(not(target_feature = "crt-static"))]
use crate::runtime::arch::weak_function;
use crate::runtime::stdpark::file;
use crate::runtime::stdpark::gate::may_have_to_park;
use crate::runtime::stdpark::in_kernel::{hand_on, in_kernel};

/// Makes a call that the kernel ends by itself.
///
/// # Safety
/// As that system call.
#[inline(always)]
unsafe fn long_call(number: c_long, args: [usize; 6]) -> isize {
    // SAFETY: as the caller says.
    unsafe {
        if may_have_to_park() {
            return on_goroutine(number, &args, hand_on);
        }
        result_of(raw(number, args))
    }
}

/// Makes a call that waits for another process, perhaps for ever, and that a signal ends.
///
/// # Safety
/// As that system call.
#[inline(always)]
pub(super) unsafe fn waiting_call(number: c_long, args: [usize; 6]) -> isize {
    // SAFETY: as the caller says.
    unsafe {
        if may_have_to_park() {
            return on_goroutine(number, &args, in_kernel);
        }
        result_of(raw(number, args))
    }
}

/// The half of both that a goroutine does.
#[cold]
#[inline(never)]
unsafe fn on_goroutine(number: c_long, args: &[usize; 6], how: fn(&dyn Fn() -> isize) -> isize) -> isize {
    // SAFETY: as the caller says.
    result_of(how(&|| unsafe { raw(number, *args) }))
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    // SAFETY: as the caller says.
    unsafe { long_call(libc::SYS_fsync, [fd as usize, 0, 0, 0, 0, 0]) as c_int }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdatasync(fd: c_int) -> c_int {
    // SAFETY: as the caller says.
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
    // SAFETY: as the caller says.
    unsafe { long_call(libc::SYS_copy_file_range, args) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendfile(to: c_int, from: c_int, at: *mut off_t, len: size_t) -> ssize_t {
    // SAFETY: as the caller says.
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
    // SAFETY: as the caller says.
    unsafe { waiting_call(libc::SYS_splice, args) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flock(fd: c_int, operation: c_int) -> c_int {
    // SAFETY: as the caller says.
    unsafe { waiting_call(libc::SYS_flock, [fd as usize, operation as usize, 0, 0, 0, 0]) as c_int }
}

// Weak: a C program that is linked statically has the C library's, which is in one file with
// `freeaddrinfo`.
#[cfg(not(target_feature = "crt-static"))]
weak_function!("getaddrinfo", getaddrinfo);

/// `getaddrinfo`, which the C library does: it reads files, and asks servers.
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
    // SAFETY: the next one of that name is the C library's, and of this type.
    let next = unsafe {
        mem::transmute::<*mut _, Option<Getaddrinfo>>(libc::dlsym(libc::RTLD_NEXT, c"getaddrinfo".as_ptr()))
    };
    let Some(next) = next else { return libc::EAI_SYSTEM };
    // SAFETY: as the caller says.
    let call = || unsafe { next(node, service, hints, found) as isize };
    (if may_have_to_park() { in_kernel(&call) } else { call() }) as c_int
}
