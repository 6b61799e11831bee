//! Signal masks, and waits for signals. A goroutine that waits for a signal keeps its thread, and
//! others get its processor.

use std::ffi::c_int;

use libc::{siginfo_t, sigset_t, timespec};

use crate::runtime::base::real;
use crate::runtime::stdpark::operation::in_kernel;
use crate::runtime::threads::cancel::cancellation_point;
use crate::runtime::threads::live::live;
use crate::runtime::threads::masks::sigmask;

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

/// Waits for signals.
macro_rules! waits_for_signals {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> c_int {
            // SAFETY: the program keeps to the C library's contract of this function.
            let wait = || unsafe { real::$name($($arg),*) };
            if !live() {
                return wait();
            }
            // SAFETY: as above.
            unsafe { cancellation_point() };
            in_kernel(&|| wait() as isize) as c_int
        }
    )*};
}

waits_for_signals! {
    sigwait(set: *const sigset_t, signal: *mut c_int);
    sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t);
    sigtimedwait(set: *const sigset_t, info: *mut siginfo_t, time: *const timespec);
    sigsuspend(set: *const sigset_t);
    pause();
}
