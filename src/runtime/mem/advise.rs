//! `madvise` for many places at once.

use crate::runtime::arch::syscall::syscall;
use std::io;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// `PIDFD_SELF_THREAD_GROUP`: this process, where a pidfd is asked for.
const PIDFD_SELF: libc::c_int = -10001;

/// Whether `process_madvise` was found not to work here.
static TRIED_IN_VAIN: AtomicBool = AtomicBool::new(false);

/// `process_madvise` for this process; returns for how many bytes the advice was taken. An older
/// kernel refuses the call, or the pidfd, and a sandbox may: then it isn't asked again.
///
/// # Safety
/// As [`advise_each`].
unsafe fn advise_vector(ranges: &[libc::iovec], advice: libc::c_int) -> isize {
    if TRIED_IN_VAIN.load(Ordering::Relaxed) {
        return 0;
    }
    let (first, n) = (ranges.as_ptr(), ranges.len());
    // SAFETY: the kernel reads the ranges, for which the caller allows the advice.
    let advised = unsafe { syscall!(SYS_process_madvise, PIDFD_SELF, first, n, advice, 0) };
    if advised < 0
        && matches!(io::Error::last_os_error().raw_os_error(), Some(libc::ENOSYS | libc::EPERM | libc::EBADF))
    {
        TRIED_IN_VAIN.store(true, Ordering::Relaxed);
    }
    advised
}

/// Calls `madvise` for each range of addresses, with one system call for several ranges if the
/// kernel has `process_madvise`. Stops at an error.
///
/// # Safety
/// The ranges are mapped pages, and nobody needs what the advice takes from them.
pub(super) unsafe fn advise_each(
    ranges: impl Iterator<Item = Range<usize>>,
    advice: libc::c_int,
) -> io::Result<()> {
    const VECTOR: usize = 32;
    let mut ranges = ranges.peekable();
    while ranges.peek().is_some() {
        let mut vector = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; VECTOR];
        let (mut n, mut len) = (0, 0);
        for (place, range) in vector.iter_mut().zip(ranges.by_ref()) {
            place.iov_base = ptr::with_exposed_provenance_mut(range.start);
            place.iov_len = range.len();
            (n, len) = (n + 1, len + range.len());
        }
        // SAFETY: the vector has `n` ranges, for which the caller allows the advice.
        if n > 1 && unsafe { advise_vector(&vector[..n], advice) } == len as isize {
            continue;
        }
        for place in &vector[..n] {
            // SAFETY: one of those ranges. Advice that was given already does no harm.
            if unsafe { libc::madvise(place.iov_base, place.iov_len, advice) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    Ok(())
}
