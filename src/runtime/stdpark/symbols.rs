//! The functions of the C library that the program has in their place. Each does what the C
//! library's does, with errno, but that it parks a goroutine that would block its thread, if that
//! may park.

use std::ffi::{c_int, c_long, c_uint};
use std::ptr;

use libc::{clockid_t, pid_t, sighandler_t, timespec};

use crate::runtime::arch::raw;
use crate::runtime::arch::syscall::{result_of, syscall_words};
use crate::runtime::stdpark::futex::{Call, SYS_FUTEX_REQUEUE, SYS_FUTEX_WAKE};
use crate::runtime::stdpark::live::live;
use crate::runtime::stdpark::{handlers, sleep};

/// `syscall`, which has as many arguments as the call. (Where it has fewer than six, what is in the
/// other registers, and on the stack, is passed, and not looked at.)
///
/// # Safety
/// As that system call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let is_futex = number == libc::SYS_futex || (SYS_FUTEX_WAKE..=SYS_FUTEX_REQUEUE).contains(&number);
    // SAFETY: as the caller says.
    unsafe {
        if is_futex && live() {
            return live_futex(number, a, b, c, d, e, f);
        }
        syscall_words(number, [a, b, c, d, e, f]) as c_long
    }
}

/// A function of its own, with the same arguments: the plain call saves no registers for it.
///
/// # Safety
/// As that system call.
#[cold]
#[inline(never)]
unsafe extern "C" fn live_futex(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    // SAFETY: as the caller says.
    result_of(unsafe { Call { number, args: [a, b, c, d, e, f] }.run() }) as c_long
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    request: *const timespec,
    rest: *mut timespec,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        if sleep::sleep(clock, flags, request) {
            return 0;
        }
        let args = [clock as usize, flags as usize, request as usize, rest as usize, 0, 0];
        // It returns its error.
        -raw(libc::SYS_clock_nanosleep, args) as c_int
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanosleep(request: *const timespec, rest: *mut timespec) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        if sleep::sleep(libc::CLOCK_MONOTONIC, 0, request) {
            return 0;
        }
        syscall_words(libc::SYS_nanosleep, [request as usize, rest as usize]) as c_int
    }
}

/// # Safety
/// None is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn usleep(us: c_uint) -> c_int {
    let time = timespec { tv_sec: i64::from(us / 1_000_000), tv_nsec: i64::from(us % 1_000_000) * 1000 };
    // SAFETY: a time of ours, and no place for the rest.
    unsafe { nanosleep(&time, ptr::null_mut()) }
}

/// # Safety
/// None is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let mut time = timespec { tv_sec: i64::from(seconds), tv_nsec: 0 };
    // SAFETY: a time of ours, which also takes the rest.
    match unsafe { nanosleep(&time, &mut time) } {
        0 => 0,
        // Rounded, as the C library's.
        _ => time.tv_sec as c_uint + c_uint::from(time.tv_nsec >= 500_000_000),
    }
}

/// # Safety
/// None is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_yield() -> c_int {
    if sleep::yield_now() {
        return 0;
    }
    // SAFETY: no arguments.
    (unsafe { syscall_words(libc::SYS_sched_yield, []) }) as c_int
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    sig: c_int,
    action: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { handlers::sigaction(sig, action, old) }
}

/// The names that `signal` has: handlers that stay, and after which system calls go on.
macro_rules! signal_as_in_bsd {
    ($($name:ident)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(sig: c_int, handler: sighandler_t) -> sighandler_t {
            // SAFETY: as the caller says.
            unsafe { handlers::signal(sig, handler, libc::SA_RESTART, true) }
        }
    )*};
}

signal_as_in_bsd! { signal bsd_signal ssignal }

/// The names that it has in C code for older standards: a handler is called once.
macro_rules! signal_as_in_system_v {
    ($($name:ident)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(sig: c_int, handler: sighandler_t) -> sighandler_t {
            // SAFETY: as the caller says.
            unsafe { handlers::signal(sig, handler, libc::SA_RESETHAND | libc::SA_NODEFER, false) }
        }
    )*};
}

signal_as_in_system_v! { sysv_signal __sysv_signal }

/// `fork`: a child that shares this process's memory would find that waits park, and have no
/// threads to run anybody on. POSIX allows it.
///
/// # Safety
/// As the C library's `fork`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfork() -> pid_t {
    // SAFETY: as the caller says.
    unsafe { libc::fork() }
}
