//! Signal masks, signal stacks, and waits for signals.

use std::ffi::c_int;
use std::ptr;

use libc::{siginfo_t, sigset_t, stack_t, timespec};

use crate::runtime::arch::syscall::result_of;
use crate::runtime::base::real;
use crate::runtime::stdpark::operation::in_kernel;
use crate::runtime::threads::cancel::cancellation_point;
use crate::runtime::threads::live::live;
use crate::runtime::threads::masks::{self, sigmask};
use crate::runtime::threads::sigwait::{self, add_pending};

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_sigmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `pthread_sigmask`.
    unsafe {
        if live()
            && let Some(done) = sigmask(how, set, old)
        {
            return done;
        }
        real::pthread_sigmask(how, set, old)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigprocmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `sigprocmask`.
    unsafe {
        match pthread_sigmask(how, set, old) {
            0 => 0,
            error => {
                *libc::__errno_location() = error;
                -1
            }
        }
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaltstack(new: *const stack_t, old: *mut stack_t) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `sigaltstack`.
    unsafe {
        if live()
            && let Some(error) = masks::sigaltstack(new, old)
        {
            return result_of(-error as isize) as c_int;
        }
        real::sigaltstack(new, old)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigpending(set: *mut sigset_t) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `sigpending`.
    unsafe {
        let result = real::sigpending(set);
        if live() && result == 0 {
            add_pending(set);
        }
        result
    }
}

/// Defines functions that wait for signals: what each does, and what it does while threads are
/// goroutines.
macro_rules! waits {
    ($($name:ident($($arg:ident: $type:ty),*): $live:expr;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> c_int {
            // SAFETY: the program keeps to the C library's contract of this function.
            unsafe {
                if !live() {
                    return real::$name($($arg),*);
                }
                cancellation_point();
                $live
            }
        }
    )*};
}

waits! {
    sigwait(set: *const sigset_t, signal: *mut c_int): sigwait::sigwait(set, signal);
    sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t): sigwait::sigtimedwait(set, info, ptr::null());
    sigtimedwait(set: *const sigset_t, info: *mut siginfo_t, time: *const timespec):
        sigwait::sigtimedwait(set, info, time);
    sigsuspend(set: *const sigset_t): match sigwait::sigsuspend(set) {
        Some(ret) => result_of(ret) as c_int,
        None => real::sigsuspend(set),
    };
    pause(): in_kernel(&|| real::pause() as isize) as c_int;
}
