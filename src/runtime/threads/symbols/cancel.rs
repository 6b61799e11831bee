//! Cancellation of threads.

use std::ffi::c_int;

use libc::pthread_t;

use crate::runtime::base::real;
use crate::runtime::threads::cancel::{cancel, cancellation_point, set_state, set_type};
use crate::runtime::threads::live::live;
use crate::runtime::threads::record::this_thread;

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cancel(thread: pthread_t) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `pthread_cancel`.
    unsafe {
        if live()
            && let Some(done) = cancel(thread)
        {
            return done;
        }
        real::pthread_cancel(thread)
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_testcancel() {
    // SAFETY: the program keeps to the C library's contract of `pthread_testcancel`.
    unsafe {
        if live() && this_thread().is_some() {
            return cancellation_point();
        }
        real::pthread_testcancel();
    }
}

/// Sets the state or the type of the caller's cancellation.
macro_rules! sets {
    ($($name:ident: $set:ident;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(new: c_int, old: *mut c_int) -> c_int {
            // SAFETY: the program keeps to the C library's contract of this function.
            unsafe {
                if live()
                    && let Some(gp) = this_thread()
                {
                    if !(0..=1).contains(&new) {
                        return libc::EINVAL;
                    }
                    let was = $set(gp, new);
                    if let Some(old) = old.as_mut() {
                        *old = was;
                    }
                    return 0;
                }
                real::$name(new, old)
            }
        }
    )*};
}

sets! {
    pthread_setcancelstate: set_state;
    pthread_setcanceltype: set_type;
}
