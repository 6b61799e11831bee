//! Threads of `<threads.h>`. A `thrd_t` is a `pthread_t`.

use std::ffi::{c_int, c_void};
use std::ptr;

use libc::{pthread_t, timespec};

use crate::runtime::base::real;
use crate::runtime::stdpark::symbols::time::sched_yield;
use crate::runtime::threads::create::create;
use crate::runtime::threads::exit::note_result;
use crate::runtime::threads::join::{Until, detach, join};
use crate::runtime::threads::live::{live, live_with_first_thread};
use crate::runtime::threads::record::Start;
use crate::runtime::threads::symbols::points::nanosleep;

/// `thrd_success`, `thrd_error` and `thrd_nomem`: `threads.h`.
const SUCCESS: c_int = 0;
const ERROR: c_int = 2;
const NO_MEMORY: c_int = 3;

/// Returns the result of a function of `<threads.h>` for the result of one of `<pthread.h>`.
fn result_of(error: c_int) -> c_int {
    match error {
        0 => SUCCESS,
        libc::ENOMEM => NO_MEMORY,
        _ => ERROR,
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_create(
    thread: *mut pthread_t,
    f: extern "C" fn(*mut c_void) -> c_int,
    arg: *mut c_void,
) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `thrd_create`.
    unsafe {
        let start = Start { f: f as *const c_void, arg, returns_int: true };
        if (live() || live_with_first_thread())
            && let Some(created) = create(thread, ptr::null(), start)
        {
            return result_of(created);
        }
        real::thrd_create(thread, f, arg)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn thrd_join(thread: pthread_t, result: *mut c_int) -> c_int {
    let mut returned = ptr::null_mut();
    // SAFETY: the program keeps to the C library's contract of `thrd_join`.
    unsafe {
        if live()
            && let Some(joined) = join(thread, &mut returned, Until::End, 0)
        {
            if joined == 0
                && let Some(result) = result.as_mut()
            {
                *result = returned.addr() as c_int;
            }
            return result_of(joined);
        }
        real::thrd_join(thread, result)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_detach(thread: pthread_t) -> c_int {
    if live()
        && let Some(detached) = detach(thread)
    {
        return result_of(detached);
    }
    // SAFETY: the program keeps to the C library's contract of `thrd_detach`.
    unsafe { real::thrd_detach(thread) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn thrd_exit(result: c_int) -> ! {
    if live() {
        note_result(ptr::without_provenance_mut(result as usize));
    }
    // SAFETY: the program keeps to the C library's contract of `thrd_exit`.
    unsafe { real::thrd_exit(result) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn thrd_sleep(time: *const timespec, rest: *mut timespec) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `thrd_sleep`.
    unsafe {
        if !live() {
            return real::thrd_sleep(time, rest);
        }
        match nanosleep(time, rest) {
            0 => 0,
            _ if *libc::__errno_location() == libc::EINTR => -1,
            _ => -2,
        }
    }
}

/// # Safety
/// None is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_yield() {
    // SAFETY: neither function has any conditions.
    unsafe {
        if !live() {
            return real::thrd_yield();
        }
        sched_yield();
    }
}
