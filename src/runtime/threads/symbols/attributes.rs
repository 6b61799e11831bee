//! What a thread has: a stack, and a name.

use std::ffi::{c_char, c_int};

use libc::{pthread_attr_t, pthread_t};

use crate::runtime::base::real;
use crate::runtime::threads::attributes::{get_name, getattr, set_name};
use crate::runtime::threads::live::live;

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_getattr_np(thread: pthread_t, attr: *mut pthread_attr_t) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `pthread_getattr_np`.
    unsafe {
        if live()
            && let Some(got) = getattr(thread, attr)
        {
            return got;
        }
        real::pthread_getattr_np(thread, attr)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `pthread_setname_np`.
    unsafe {
        if live()
            && let Some(set) = set_name(thread, name)
        {
            return set;
        }
        real::pthread_setname_np(thread, name)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_getname_np(thread: pthread_t, name: *mut c_char, size: usize) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `pthread_getname_np`.
    unsafe {
        if live()
            && let Some(got) = get_name(thread, name, size)
        {
            return got;
        }
        real::pthread_getname_np(thread, name, size)
    }
}
