//! How the runtime calls the kernel.
//!
//! With the feature `std` the program's `syscall` is ours (`stdpark/symbols/`). It takes a lock of
//! the runtime's, so the runtime doesn't call it. Without the feature, `syscall` is the C
//! library's, which tests replace.

use std::ffi::c_int;

#[cfg(feature = "std")]
use crate::runtime::arch::raw;
#[cfg(feature = "std")]
use crate::runtime::data::cell::Cell;

/// Calls the kernel: `syscall!(SYS_tgkill, pid, tid, sig)`. As the C library does, it returns -1
/// and sets errno if the kernel returns an error.
macro_rules! syscall {
    ($number:ident $(, $arg:expr)* $(,)?) => {
        $crate::runtime::arch::syscall::syscall_words(libc::$number, [$($arg as usize),*])
    };
}
pub(in crate::runtime) use syscall;

/// The function behind [`syscall!`].
///
/// # Safety
/// As that system call.
#[cfg(feature = "std")]
#[inline(always)]
pub(in crate::runtime) unsafe fn syscall_words<const N: usize>(
    number: libc::c_long,
    args: [usize; N],
) -> isize {
    // SAFETY: the caller keeps to the contract of the system call.
    result_of(unsafe { raw(number, six(args)) })
}

/// The function behind [`syscall!`].
///
/// # Safety
/// As that system call.
#[cfg(not(feature = "std"))]
#[inline(always)]
pub(in crate::runtime) unsafe fn syscall_words<const N: usize>(
    number: libc::c_long,
    args: [usize; N],
) -> isize {
    let [a, b, c, d, e, f] = six(args);
    // SAFETY: as the caller says; the kernel doesn't read arguments that the call doesn't have.
    unsafe { libc::syscall(number, a, b, c, d, e, f) as isize }
}

/// Returns the arguments, filled up with zeros.
#[inline(always)]
fn six<const N: usize>(args: [usize; N]) -> [usize; 6] {
    let mut six = [0; 6];
    six[..N].copy_from_slice(&args);
    six
}

/// Returns the C library's result for the kernel's result `ret`: -1 for an error, which errno
/// names.
#[cfg(feature = "std")]
#[inline(always)]
pub(in crate::runtime) fn result_of(ret: isize) -> isize {
    /// The kernel's errors are the numbers from here to -1.
    const FIRST_ERROR: isize = -4095;
    if (FIRST_ERROR..0).contains(&ret) { failed(ret) } else { ret }
}

/// Out of line, so that callers of [`result_of`] save no registers for it.
#[cfg(feature = "std")]
#[cold]
#[inline(never)]
fn failed(ret: isize) -> isize {
    // A cell, so that ThreadSanitizer doesn't see the store: under it goroutines share the errno of
    // their thread, and only their turns order their stores.
    // SAFETY: errno of this thread, or goroutine, which nobody else uses.
    unsafe { (*libc::__errno_location().cast::<Cell<c_int>>()).set(-ret as c_int) };
    -1
}

/// Calls `f`, and sets errno to what it was. For a function that the program calls, and that isn't
/// known to change errno.
#[cfg(pthreads)]
#[inline(always)]
pub(in crate::runtime) fn keeping_errno<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: errno of this thread, or goroutine, which nobody else uses. `f` may park, so errno is
    // looked up again.
    unsafe {
        let errno = *libc::__errno_location();
        let result = f();
        *libc::__errno_location() = errno;
        result
    }
}

/// The C library's `sigaction`.
///
/// # Safety
/// As that.
#[inline]
pub(in crate::runtime) unsafe fn sigaction(
    sig: c_int,
    action: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    #[cfg(feature = "std")]
    unsafe extern "C" {
        #[link_name = "__sigaction"]
        fn libc_sigaction(sig: c_int, action: *const libc::sigaction, old: *mut libc::sigaction) -> c_int;
    }
    #[cfg(not(feature = "std"))]
    use libc::sigaction as libc_sigaction;
    // SAFETY: the caller keeps to the contract of the C library's `sigaction`.
    unsafe { libc_sigaction(sig, action, old) }
}
