//! How handlers of signals are installed.

use std::ffi::c_int;

use libc::sighandler_t;

use crate::runtime::stdpark::gate;

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    sig: c_int,
    action: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: the program keeps to the C library's contract of `sigaction`.
    unsafe { gate::sigaction(sig, action, old) }
}

/// The names of `signal` with handlers that stay installed, and after which system calls go on.
macro_rules! signal_as_in_bsd {
    ($($name:ident)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(sig: c_int, handler: sighandler_t) -> sighandler_t {
            // SAFETY: the program keeps to the C library's contract of this function.
            unsafe { gate::signal(sig, handler, libc::SA_RESTART, true) }
        }
    )*};
}

signal_as_in_bsd! { signal bsd_signal ssignal }

/// The names that `signal` has in C code for older standards, where a handler is called once.
macro_rules! signal_as_in_system_v {
    ($($name:ident)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(sig: c_int, handler: sighandler_t) -> sighandler_t {
            // SAFETY: the program keeps to the C library's contract of this function.
            unsafe { gate::signal(sig, handler, libc::SA_RESETHAND | libc::SA_NODEFER, false) }
        }
    )*};
}

signal_as_in_system_v! { sysv_signal __sysv_signal }
