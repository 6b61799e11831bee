//! The owner of a descriptor, and how it is dropped.

use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsFd, AsRawFd, RawFd};

use crate::goroutine::close;

/// The owner of a descriptor, which closes it when it is dropped.
///
/// The close of a socket with a linger time waits until the written bytes have arrived, also in
/// non-blocking mode. So the owner of such a socket is dropped in [`close`]. Other owners aren't,
/// because a goroutine may wait at the end of `close`. Go's `destroy`, in
/// `internal/poll/fd_unix.go`.
pub(super) struct Owner<T> {
    fd: RawFd,
    inner: ManuallyDrop<T>,
}

impl<T: AsFd> Owner<T> {
    pub(super) fn new(inner: T) -> Self {
        Owner { fd: inner.as_fd().as_raw_fd(), inner: ManuallyDrop::new(inner) }
    }
}

impl<T> Owner<T> {
    pub(super) fn into_inner(self) -> T {
        // SAFETY: it is taken once, because this value isn't dropped.
        unsafe { ManuallyDrop::take(&mut ManuallyDrop::new(self).inner) }
    }
}

impl<T> Drop for Owner<T> {
    fn drop(&mut self) {
        let lingers = lingers(self.fd);
        // SAFETY: it is taken once, because nothing uses this value after its drop.
        let inner = unsafe { ManuallyDrop::take(&mut self.inner) };
        if lingers {
            close(inner);
        }
    }
}

impl<T> Deref for Owner<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for Owner<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

/// Whether `fd` is a socket whose close may wait: one with `SO_LINGER` and a time.
fn lingers(fd: RawFd) -> bool {
    // SAFETY: it consists of two numbers.
    let linger: Option<libc::linger> = unsafe { socket_option(fd, libc::SO_LINGER) };
    linger.is_some_and(|linger| linger.l_onoff != 0 && linger.l_linger > 0)
}

/// Whether `fd` is a socket for TCP.
pub(super) fn is_tcp(fd: RawFd) -> bool {
    // SAFETY: it is a number.
    let option = |name| unsafe { socket_option::<libc::c_int>(fd, name) };
    matches!(option(libc::SO_DOMAIN), Some(libc::AF_INET | libc::AF_INET6))
        && option(libc::SO_PROTOCOL) == Some(libc::IPPROTO_TCP)
}

/// An option of a socket; none if `fd` isn't one.
///
/// # Safety
/// A `V` consists of numbers.
unsafe fn socket_option<V>(fd: RawFd, name: libc::c_int) -> Option<V> {
    let (mut value, mut len) = (MaybeUninit::<V>::zeroed(), size_of::<V>() as libc::socklen_t);
    // SAFETY: the kernel writes `len`, and at most `len` bytes to `value`, which has as many.
    let ret = unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, name, value.as_mut_ptr().cast(), &mut len) };
    // SAFETY: each number is zero, or written by the kernel.
    (ret == 0).then(|| unsafe { value.assume_init() })
}
