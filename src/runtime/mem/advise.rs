//! `madvise` for many places at once.

use std::io;
use std::ops::Range;
use std::ptr;

/// `PIDFD_SELF_THREAD_GROUP`: this process, where a pidfd is asked for.
const PIDFD_SELF: libc::c_int = -10001;

/// Calls `madvise` for each range of addresses, with one system call for several ranges if the kernel has
/// `process_madvise`. Stops at an error.
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
        // SAFETY: the vector has `n` ranges, for which the caller allows the advice. An older kernel refuses
        // the call or the pidfd.
        let advised = n > 1
            && unsafe { libc::syscall(libc::SYS_process_madvise, PIDFD_SELF, vector.as_ptr(), n, advice, 0) }
                == len as i64;
        if advised {
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
