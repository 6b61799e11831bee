//! The locks of `<threads.h>`, which are those of `<pthread.h>` with results of their own.

use std::ffi::c_int;

use libc::{pthread_cond_t, pthread_mutex_t, timespec};

use crate::runtime::threads::symbols::locks::{
    pthread_cond_broadcast, pthread_cond_signal, pthread_cond_timedwait, pthread_cond_wait,
    pthread_mutex_lock, pthread_mutex_timedlock, pthread_mutex_unlock, pthread_once,
};

/// Returns C11's result for an error: `thrd_success`, `thrd_busy`, `thrd_error`, `thrd_nomem` and
/// `thrd_timedout`.
#[inline(always)]
fn result_of(error: c_int) -> c_int {
    match error {
        0 => 0,
        libc::EBUSY => 1,
        libc::ENOMEM => 3,
        libc::ETIMEDOUT => 4,
        _ => 2,
    }
}

/// Defines functions that do what another one does.
macro_rules! functions {
    ($($name:ident($($arg:ident: $type:ty),*) = $function:ident;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> c_int {
            // SAFETY: the program keeps to the C library's contract of this function.
            result_of(unsafe { $function($($arg),*) })
        }
    )*};
}

functions! {
    mtx_lock(mutex: *mut pthread_mutex_t) = pthread_mutex_lock;
    mtx_timedlock(mutex: *mut pthread_mutex_t, time: *const timespec) = pthread_mutex_timedlock;
    mtx_unlock(mutex: *mut pthread_mutex_t) = pthread_mutex_unlock;
    cnd_wait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) = pthread_cond_wait;
    cnd_timedwait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, time: *const timespec) =
        pthread_cond_timedwait;
    cnd_signal(cond: *mut pthread_cond_t) = pthread_cond_signal;
    cnd_broadcast(cond: *mut pthread_cond_t) = pthread_cond_broadcast;
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn call_once(flag: *mut c_int, function: unsafe extern "C-unwind" fn()) {
    // SAFETY: the program keeps to the C library's contract of this function.
    unsafe { pthread_once(flag, function) };
}
