//! Processors, policies and priorities of threads.

use std::ffi::c_int;

use libc::{clockid_t, cpu_set_t, pthread_t, sched_param};

use crate::runtime::base::real;
use crate::runtime::threads::live::live;
use crate::runtime::threads::scheduling::{
    cpu_clock, get_affinity, get_sched_param, set_affinity, set_sched_param, set_sched_priority,
};

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setaffinity_np(
    thread: pthread_t,
    size: usize,
    set: *const cpu_set_t,
) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `pthread_setaffinity_np`.
    unsafe {
        if live()
            && let Some(done) = set_affinity(thread, size, set)
        {
            return done;
        }
        real::pthread_setaffinity_np(thread, size, set)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_getaffinity_np(
    thread: pthread_t,
    size: usize,
    set: *mut cpu_set_t,
) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `pthread_getaffinity_np`.
    unsafe {
        if live()
            && let Some(done) = get_affinity(thread, size, set)
        {
            return done;
        }
        real::pthread_getaffinity_np(thread, size, set)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setschedparam(
    thread: pthread_t,
    policy: c_int,
    param: *const sched_param,
) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `pthread_setschedparam`.
    unsafe {
        if live()
            && let Some(done) = set_sched_param(thread, policy, param)
        {
            return done;
        }
        real::pthread_setschedparam(thread, policy, param)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_getschedparam(
    thread: pthread_t,
    policy: *mut c_int,
    param: *mut sched_param,
) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `pthread_getschedparam`.
    unsafe {
        if live()
            && let Some(done) = get_sched_param(thread, policy, param)
        {
            return done;
        }
        real::pthread_getschedparam(thread, policy, param)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setschedprio(thread: pthread_t, priority: c_int) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `pthread_setschedprio`.
    unsafe {
        if live()
            && let Some(done) = set_sched_priority(thread, priority)
        {
            return done;
        }
        real::pthread_setschedprio(thread, priority)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_getcpuclockid(thread: pthread_t, clock: *mut clockid_t) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `pthread_getcpuclockid`.
    unsafe {
        if live()
            && let Some(done) = cpu_clock(thread, clock)
        {
            return done;
        }
        real::pthread_getcpuclockid(thread, clock)
    }
}
