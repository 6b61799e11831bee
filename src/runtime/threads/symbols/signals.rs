//! Signals that are sent to a thread.

use std::ffi::c_int;

use libc::{pthread_t, sigval};

use crate::runtime::arch::syscall::result_of;
use crate::runtime::base::real;
use crate::runtime::threads::live::live;
use crate::runtime::threads::signals::{kill, sigqueue};

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_kill(thread: pthread_t, signal: c_int) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `pthread_kill`.
    unsafe {
        if live()
            && let Some(done) = kill(thread, signal)
        {
            return done;
        }
        real::pthread_kill(thread, signal)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn raise(signal: c_int) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `raise`.
    unsafe {
        if live()
            && let Some(error) = kill(libc::pthread_self(), signal)
        {
            return result_of(-error as isize) as c_int;
        }
        real::raise(signal)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_sigqueue(thread: pthread_t, signal: c_int, value: sigval) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `pthread_sigqueue`.
    unsafe {
        if live()
            && let Some(done) = sigqueue(thread, signal, value)
        {
            return done;
        }
        real::pthread_sigqueue(thread, signal, value)
    }
}
