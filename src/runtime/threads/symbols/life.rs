//! How threads begin and end.

use std::ffi::{c_int, c_void};

use libc::{clockid_t, pthread_attr_t, pthread_t, timespec};

use crate::runtime::base::real;
use crate::runtime::stdpark::time::until_clock_says;
use crate::runtime::threads::create::create;
use crate::runtime::threads::exit::note_result;
use crate::runtime::threads::join::{Until, detach, join};
use crate::runtime::threads::live::{live, live_with_first_thread};
use crate::runtime::threads::record::Start;

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attr: *const pthread_attr_t,
    f: extern "C" fn(*mut c_void) -> *mut c_void,
    arg: *mut c_void,
) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `pthread_create`.
    unsafe {
        let start = Start { f: f as *const c_void, arg, returns_int: false };
        if (live() || live_with_first_thread())
            && let Some(created) = create(thread, attr, start)
        {
            return created;
        }
        real::pthread_create(thread, attr, f, arg)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `pthread_join`.
    unsafe {
        if live()
            && let Some(joined) = join(thread, result, Until::End, 0)
        {
            return joined;
        }
        real::pthread_join(thread, result)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_tryjoin_np(thread: pthread_t, result: *mut *mut c_void) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `pthread_tryjoin_np`.
    unsafe {
        if live()
            && let Some(joined) = join(thread, result, Until::Now, libc::EBUSY)
        {
            return joined;
        }
        real::pthread_tryjoin_np(thread, result)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_timedjoin_np(
    thread: pthread_t,
    result: *mut *mut c_void,
    until: *const timespec,
) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `pthread_timedjoin_np`.
    unsafe {
        if live()
            && let Some(joined) = join_until(thread, result, libc::CLOCK_REALTIME, until)
        {
            return joined;
        }
        real::pthread_timedjoin_np(thread, result, until)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_clockjoin_np(
    thread: pthread_t,
    result: *mut *mut c_void,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `pthread_clockjoin_np`.
    unsafe {
        if live()
            && let Some(joined) = join_until(thread, result, clock, until)
        {
            return joined;
        }
        real::pthread_clockjoin_np(thread, result, clock, until)
    }
}

/// # Safety
/// As `pthread_clockjoin_np`.
#[cold]
#[inline(never)]
unsafe fn join_until(
    thread: pthread_t,
    result: *mut *mut c_void,
    clock: clockid_t,
    until: *const timespec,
) -> Option<c_int> {
    // SAFETY: as the caller says; without a time the C library waits until the end, too.
    unsafe {
        let until = match until.as_ref() {
            None => Until::End,
            Some(time) => match until_clock_says(clock, time) {
                Some(time) => Until::Time(time),
                None => return Some(libc::EINVAL),
            },
        };
        join(thread, result, until, libc::ETIMEDOUT)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_detach(thread: pthread_t) -> c_int {
    if live()
        && let Some(detached) = detach(thread)
    {
        return detached;
    }
    // SAFETY: the program keeps to the C library's contract of `pthread_detach`.
    unsafe { real::pthread_detach(thread) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_exit(result: *mut c_void) -> ! {
    if live() {
        note_result(result);
    }
    // SAFETY: the program keeps to the C library's contract of `pthread_exit`.
    unsafe { real::pthread_exit(result) }
}
