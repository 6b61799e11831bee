//! [`Pollable`], and the owner of its descriptor.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use crate::goroutine::close;
use crate::net::limit::Limit;
use crate::net::registration::{Registration, is_ready};
use crate::runtime::Mode;

/// Wraps anything with a descriptor that the kernel can poll, so that operations park the goroutine
/// and not its thread: a socket, a pipe, an event descriptor, a terminal, an inotify instance. Like
/// tokio's `AsyncFd` and async-io's `Async`; Go's `internal/poll.FD`.
///
/// An operation is tried at once. If it would block, the goroutine waits until the descriptor has
/// become ready, and tries again. There is one reader at a time, and one writer; others queue up.
/// On a thread that isn't a goroutine's, the operation blocks that thread while it waits.
///
/// ```
/// use std::io::{Read, Write, pipe};
/// use gosched::net::Pollable;
///
/// gosched::run(|| {
///     let (rx, tx) = pipe()?;
///     let (mut rx, mut tx) = (Pollable::new(rx)?, Pollable::new(tx)?);
///     let reader = gosched::go(move || {
///         let mut all = String::new();
///         rx.read_to_string(&mut all).map(|_| all)
///     });
///     tx.write_all(b"through a pipe")?;
///     drop(tx);
///     assert_eq!(reader.join().unwrap()?, "through a pipe");
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
///
/// Types that aren't `Read` and `Write` are used in [`read_with`](Self::read_with) and
/// [`write_with`](Self::write_with):
///
/// ```
/// use std::os::unix::net::UnixDatagram;
/// use gosched::net::Pollable;
///
/// gosched::run(|| {
///     let (a, b) = UnixDatagram::pair()?;
///     let (a, b) = (Pollable::new(a)?, Pollable::new(b)?);
///     gosched::go(move || a.write_with(|a| a.send(b"hello")));
///     let mut buf = [0; 16];
///     assert_eq!(b.read_with(|b| b.recv(&mut buf))?, 5);
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
///
/// It may borrow the owner of the descriptor, which then can't be dropped before it:
///
/// ```compile_fail,E0597
/// use std::os::unix::net::UnixStream;
/// use gosched::net::Pollable;
///
/// let borrows;
/// let (stream, _peer) = UnixStream::pair().unwrap();
/// borrows = Pollable::new(&stream).unwrap();
/// ```
///
/// Dropping it drops the owner, which closes the descriptor. The close of a socket with a linger
/// time (`SO_LINGER`) waits until the written bytes have arrived. So such an owner is dropped in
/// [`blocking`](crate::blocking): no signal of the runtime ends the wait, and others have the P.
pub struct Pollable<T> {
    /// The first field, so that it is dropped before the descriptor is closed.
    pub(super) registration: Registration<T>,
    inner: Owner<T>,
}

impl<T: AsFd> Pollable<T> {
    /// Registers the descriptor with the poller, and sets it to non-blocking mode. (The mode
    /// belongs to the open file: duplicates of the descriptor have it too, also in other
    /// processes.)
    ///
    /// # Errors
    /// [`Unsupported`](io::ErrorKind::Unsupported) if the kernel can't poll it, because it is a
    /// regular file or a folder and so always ready;
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) if it is registered already; otherwise the
    /// kernel's.
    pub fn new(inner: T) -> io::Result<Self> {
        Self::with_drain(inner, false)
    }

    /// [`new`](Self::new) for std's types for TCP, which may hold another kind of socket.
    pub(super) fn of_tcp(inner: T) -> io::Result<Self> {
        let is_tcp = is_tcp(inner.as_fd().as_raw_fd());
        Self::with_drain(inner, is_tcp)
    }

    /// [`new`](Self::new) with a given `short_read_drains`: see [`Registration`].
    pub(super) fn with_drain(inner: T, short_read_drains: bool) -> io::Result<Self> {
        let registration = Registration::new(&inner, short_read_drains)?;
        Ok(Pollable { registration, inner: Owner::new(inner) })
    }

    /// Waits until bytes can be read, or the end has come. Another reader may take the bytes first.
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) after the deadline,
    /// [`BrokenPipe`](io::ErrorKind::BrokenPipe) after [`close`](Self::close).
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn readable(&self) -> io::Result<()> {
        self.read_with(|inner| is_ready(inner.as_fd(), Mode::Read))
    }

    /// Waits until bytes can be written, or the other end has no reader any more. Another writer
    /// may be faster. For a [`UnixDatagram`](crate::net::UnixDatagram) that isn't connected, it
    /// doesn't wait for room at the receiver.
    ///
    /// # Errors
    /// As [`readable`](Self::readable).
    ///
    /// # Panics
    /// As [`readable`](Self::readable).
    #[track_caller]
    pub fn writable(&self) -> io::Result<()> {
        self.write_with(|inner| is_ready(inner.as_fd(), Mode::Write))
    }
}

impl<T> Pollable<T> {
    /// The owner of the descriptor. Reading and writing with it doesn't wait, but fails with
    /// [`WouldBlock`](io::ErrorKind::WouldBlock).
    #[inline]
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// `short_read_drains` for sockets that are accepted or cloned from this one.
    pub(super) fn short_read_drains(&self) -> bool {
        self.registration.short_read_drains()
    }

    /// Ends the registration, and returns the owner of the descriptor, which stays in non-blocking
    /// mode.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }

    /// Calls `f`, which reads. When it returns [`WouldBlock`](io::ErrorKind::WouldBlock), waits
    /// until the descriptor is ready, and calls it again; when it returns
    /// [`Interrupted`](io::ErrorKind::Interrupted), calls it again at once. No other goroutine
    /// reads meanwhile. If `f` calls a reading function of this value, that is a deadlock.
    ///
    /// # Errors
    /// That of `f`; [`TimedOut`](io::ErrorKind::TimedOut) after the deadline,
    /// [`BrokenPipe`](io::ErrorKind::BrokenPipe) after [`close`](Self::close).
    ///
    /// # Panics
    /// As `f` does; if it would have to wait inside [`blocking`](crate::blocking), or before the
    /// first [`run`](crate::run).
    #[inline]
    #[track_caller]
    pub fn read_with<R>(&self, f: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.io(Mode::Read, "a read", f)
    }

    /// [`read_with`](Self::read_with) for an `f` that writes. It waits only for this descriptor.
    /// [`std::os::unix::net::UnixDatagram::send_to`] needs room in the queue of another socket, so
    /// it would be called over and over without a wait. [`UnixDatagram`](crate::net::UnixDatagram)
    /// has a `send_to` that waits.
    ///
    /// # Errors
    /// As [`read_with`](Self::read_with).
    ///
    /// # Panics
    /// As [`read_with`](Self::read_with).
    #[inline]
    #[track_caller]
    pub fn write_with<R>(&self, f: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.io(Mode::Write, "a write", f)
    }

    /// [`read_with`](Self::read_with), or [`write_with`](Self::write_with); `what` is the
    /// operation's name in messages.
    #[inline]
    #[track_caller]
    pub(crate) fn io<R>(&self, mode: Mode, what: &str, f: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.io_limited(mode, what, Limit::default(), f)
    }

    /// [`io`](Self::io) with a limit.
    #[inline]
    #[track_caller]
    pub(crate) fn io_limited<R>(
        &self,
        mode: Mode,
        what: &str,
        limit: Limit<'_>,
        mut f: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.io(mode, what, limit, || f(&self.inner))
    }

    /// A read into `len` bytes with a limit.
    #[track_caller]
    pub(crate) fn read_limited(
        &self,
        len: usize,
        limit: Limit<'_>,
        f: impl FnMut() -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.registration.read("a read", len, limit, f)
    }

    /// [`write_with`](Self::write_with) for an operation that the kernel doesn't report as
    /// possible: it is tried again and again, with pauses.
    #[track_caller]
    pub(super) fn write_untold<R>(&self, mut f: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.registration.io_untold(Mode::Write, "a write", || f(&self.inner))
    }

    /// Sets the time after which each read fails with [`TimedOut`](io::ErrorKind::TimedOut), also a
    /// read that waits now. It holds until it is set anew; `None` is no deadline. Go's
    /// `SetReadDeadline`.
    ///
    /// # Panics
    /// Inside [`blocking`](crate::blocking), or before the first [`run`](crate::run): only a
    /// goroutine sets a timer.
    #[track_caller]
    pub fn set_read_deadline(&self, deadline: Option<Instant>) {
        self.registration.set_deadline(Mode::Read, deadline, "set_read_deadline");
    }

    /// [`set_read_deadline`](Self::set_read_deadline) for writes. Go's `SetWriteDeadline`.
    ///
    /// # Panics
    /// As [`set_read_deadline`](Self::set_read_deadline).
    #[track_caller]
    pub fn set_write_deadline(&self, deadline: Option<Instant>) {
        self.registration.set_deadline(Mode::Write, deadline, "set_write_deadline");
    }

    /// Sets how long a read that begins to wait from now on may wait in all, before it fails with
    /// [`TimedOut`](io::ErrorKind::TimedOut). The time in which it waits for its turn, while
    /// another goroutine reads, doesn't count, and isn't limited: the other read may have no
    /// timeout. A deadline ends all of them.
    ///
    /// ```
    /// use std::io::{ErrorKind, Read};
    /// use std::time::Duration;
    /// use gosched::net::UnixStream;
    ///
    /// gosched::run(|| {
    ///     let (mut here, _there) = UnixStream::pair()?;
    ///     here.set_read_timeout(Some(Duration::from_millis(1)))?;
    ///     assert_eq!(here.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if the timeout is 0.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.registration.set_timeout(Mode::Read, timeout)
    }

    /// [`set_read_timeout`](Self::set_read_timeout) for writes.
    ///
    /// # Errors
    /// As [`set_read_timeout`](Self::set_read_timeout).
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.registration.set_timeout(Mode::Write, timeout)
    }

    /// The timeout that was set by [`set_read_timeout`](Self::set_read_timeout).
    ///
    /// # Errors
    /// None: it returns a `Result` as std's types do, which ask the kernel.
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.registration.timeout(Mode::Read))
    }

    /// The timeout that was set by [`set_write_timeout`](Self::set_write_timeout).
    ///
    /// # Errors
    /// None: it returns a `Result` as std's types do, which ask the kernel.
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.registration.timeout(Mode::Write))
    }

    /// Reads what there is. It doesn't wait for bytes, but for its turn, while another goroutine
    /// reads.
    ///
    /// ```
    /// use std::io::{ErrorKind, Write};
    /// use gosched::net::UnixStream;
    ///
    /// gosched::run(|| {
    ///     let (mut ours, theirs) = UnixStream::pair()?;
    ///     assert_eq!(theirs.try_read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
    ///     ours.write_all(b"bytes")?;
    ///     assert_eq!(theirs.try_read(&mut [0; 8])?, 5);
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is nothing to read. Otherwise as the read
    /// of the `T`, and as [`readable`](Self::readable).
    ///
    /// # Panics
    /// If it must wait for its turn inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize>
    where
        for<'a> &'a T: Read,
    {
        self.registration.try_read(buf.len(), || (&mut self.get_ref()).read(buf))
    }

    /// Ends all waits: these operations, and all later ones, fail with
    /// [`BrokenPipe`](io::ErrorKind::BrokenPipe). The descriptor itself is closed when this value
    /// is dropped, which can't happen while it is in use. A second call does nothing. Go's `Close`.
    pub fn close(&self) {
        self.registration.close();
    }

    /// The next item of a listener's iterator, made from the result of `accept`; none if `accept`
    /// failed after [`close`](Self::close).
    pub(super) fn unless_closed<S, A>(&self, accepted: io::Result<(S, A)>) -> Option<io::Result<S>> {
        if accepted.is_err() && self.registration.is_closed() {
            return None;
        }
        Some(accepted.map(|(stream, _)| stream))
    }
}

/// The number of bytes that one read can fill: std passes at most UIO_MAXIOV buffers, the kernel's
/// limit.
pub(crate) fn room(bufs: &[IoSliceMut<'_>]) -> usize {
    bufs.iter().take(libc::UIO_MAXIOV as usize).map(|buf| buf.len()).sum()
}

impl<T: Read> Read for Pollable<T> {
    #[inline]
    #[track_caller]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = buf.len();
        self.registration.read("a read", len, Limit::default(), || self.inner.read(buf))
    }

    #[track_caller]
    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let len = room(bufs);
        self.registration.read("a read", len, Limit::default(), || self.inner.read_vectored(bufs))
    }
}

impl<'a, T> Read for &'a Pollable<T>
where
    &'a T: Read,
{
    #[inline]
    #[track_caller]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let this: &'a Pollable<T> = self;
        let len = buf.len();
        this.registration.read("a read", len, Limit::default(), || (&*this.inner).read(buf))
    }

    #[track_caller]
    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let this: &'a Pollable<T> = self;
        let len = room(bufs);
        this.registration.read("a read", len, Limit::default(), || (&*this.inner).read_vectored(bufs))
    }
}

impl<T: Write> Write for Pollable<T> {
    #[inline]
    #[track_caller]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.registration.io(Mode::Write, "a write", Limit::default(), || self.inner.write(buf))
    }

    #[track_caller]
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.registration.io(Mode::Write, "a write", Limit::default(), || self.inner.write_vectored(bufs))
    }

    #[track_caller]
    fn flush(&mut self) -> io::Result<()> {
        self.registration.io(Mode::Write, "a write", Limit::default(), || self.inner.flush())
    }
}

impl<'a, T> Write for &'a Pollable<T>
where
    &'a T: Write,
{
    #[inline]
    #[track_caller]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let this: &'a Pollable<T> = self;
        this.registration.io(Mode::Write, "a write", Limit::default(), || (&*this.inner).write(buf))
    }

    #[track_caller]
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let this: &'a Pollable<T> = self;
        this.registration.io(Mode::Write, "a write", Limit::default(), || (&*this.inner).write_vectored(bufs))
    }

    #[track_caller]
    fn flush(&mut self) -> io::Result<()> {
        let this: &'a Pollable<T> = self;
        this.registration.io(Mode::Write, "a write", Limit::default(), || (&*this.inner).flush())
    }
}

impl<T: AsFd> AsFd for Pollable<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl<T: AsRawFd> AsRawFd for Pollable<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.inner.as_raw_fd()
    }
}

impl<T: IntoRawFd> IntoRawFd for Pollable<T> {
    /// The descriptor of [`into_inner`](Pollable::into_inner).
    fn into_raw_fd(self) -> RawFd {
        self.into_inner().into_raw_fd()
    }
}

impl<T: Into<OwnedFd>> From<Pollable<T>> for OwnedFd {
    /// The descriptor of [`into_inner`](Pollable::into_inner).
    fn from(ours: Pollable<T>) -> Self {
        ours.into_inner().into()
    }
}

impl<T: fmt::Debug> fmt::Debug for Pollable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pollable").field(&*self.inner).finish()
    }
}

/// The owner of a descriptor, which closes it when it is dropped.
///
/// The close of a socket with a linger time waits until the written bytes have arrived, also in
/// non-blocking mode. So the owner of such a socket is dropped in [`close`]. Other owners aren't,
/// because a goroutine may wait at the end of `close`. Go's `destroy`, in
/// `internal/poll/fd_unix.go`.
struct Owner<T> {
    fd: RawFd,
    inner: ManuallyDrop<T>,
}

impl<T: AsFd> Owner<T> {
    fn new(inner: T) -> Self {
        Owner { fd: inner.as_fd().as_raw_fd(), inner: ManuallyDrop::new(inner) }
    }
}

impl<T> Owner<T> {
    fn into_inner(self) -> T {
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
fn is_tcp(fd: RawFd) -> bool {
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
