//! Children of the process.

use std::ffi::c_int;
use std::ptr;

use libc::{id_t, idtype_t, pid_t, rusage, siginfo_t};

use crate::runtime::arch::syscall::syscall;
use crate::runtime::stdpark::child;
use crate::runtime::stdpark::gate::may_have_to_park;

/// `fork`, which POSIX allows. A child that shared this process's memory would find that waits
/// park, but would have no threads to run goroutines.
///
/// # Safety
/// As the C library's `fork`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfork() -> pid_t {
    // SAFETY: the program keeps to the C library's contract of `fork`.
    unsafe { libc::fork() }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn waitpid(pid: pid_t, status: *mut c_int, options: c_int) -> pid_t {
    // SAFETY: the program keeps to the C library's contract of `waitpid`.
    unsafe { wait4(pid, status, options, ptr::null_mut()) }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn wait4(pid: pid_t, status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t {
    // SAFETY: the program keeps to the C library's contract of `wait4`.
    unsafe {
        if may_have_to_park() {
            return child::wait4(pid, status, options, usage) as pid_t;
        }
        syscall!(SYS_wait4, pid, status, options, usage) as pid_t
    }
}

/// # Safety
/// As the C library's.
#[cfg_attr(not(pthreads), unsafe(no_mangle))]
pub unsafe extern "C" fn waitid(kind: idtype_t, id: id_t, info: *mut siginfo_t, options: c_int) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `waitid`.
    unsafe {
        if may_have_to_park() {
            return child::waitid(kind, id, info, options) as c_int;
        }
        syscall!(SYS_waitid, kind, id, info, options, 0) as c_int
    }
}
