//! The buffers of vectored calls.

use std::mem::MaybeUninit;

use libc::iovec;

/// The most buffers that one call takes: the kernel's `UIO_MAXIOV`.
pub(super) const MOST: usize = 1024;

/// How many bytes the buffers have.
pub(super) fn total(buffers: &[iovec]) -> usize {
    buffers.iter().fold(0, |sum, buffer| sum.saturating_add(buffer.iov_len))
}

/// The first buffers of what is left of a call.
pub(super) struct Rest {
    buffers: [MaybeUninit<iovec>; Rest::ROOM],
    n: usize,
}

impl Rest {
    /// A call that has to go on does so with this many at a time.
    const ROOM: usize = 16;

    /// What is left when `done` bytes, which are less than all, are done.
    pub(super) fn of(buffers: &[iovec], mut done: usize) -> Self {
        let mut rest = Rest { buffers: [const { MaybeUninit::uninit() }; Rest::ROOM], n: 0 };
        for buffer in buffers {
            if rest.n == Rest::ROOM {
                break;
            }
            let skipped = done.min(buffer.iov_len);
            done -= skipped;
            if skipped < buffer.iov_len {
                let iov_base = buffer.iov_base.wrapping_byte_add(skipped);
                rest.buffers[rest.n].write(iovec { iov_base, iov_len: buffer.iov_len - skipped });
                rest.n += 1;
            }
        }
        rest
    }

    pub(super) fn as_slice(&self) -> &[iovec] {
        // SAFETY: the first n were written.
        unsafe { std::slice::from_raw_parts(self.buffers.as_ptr().cast(), self.n) }
    }
}

/// Calls `f` with the buffers that are left.
pub(super) fn with_rest<R>(buffers: &[iovec], done: usize, f: impl FnOnce(&[iovec]) -> R) -> R {
    if done == 0 { f(buffers) } else { f(Rest::of(buffers, done).as_slice()) }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn what_is_left() {
        let buffers =
            [3, 0, 4, 5].map(|iov_len| iovec { iov_base: ptr::without_provenance_mut(1000), iov_len });
        let left = |done| {
            with_rest(&buffers, done, |rest| {
                rest.iter().map(|b| (b.iov_base.addr(), b.iov_len)).collect::<Vec<_>>()
            })
        };
        assert_eq!(total(&buffers), 12);
        assert_eq!(left(0), [(1000, 3), (1000, 0), (1000, 4), (1000, 5)]);
        assert_eq!(left(2), [(1002, 1), (1000, 4), (1000, 5)]);
        assert_eq!(left(3), [(1000, 4), (1000, 5)]);
        assert_eq!(left(11), [(1004, 1)]);
        let many = [buffers[0]; 40];
        assert_eq!(with_rest(&many, 1, total), 3 * Rest::ROOM - 1);
    }
}
