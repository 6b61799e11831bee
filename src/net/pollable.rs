//! [`Pollable`].

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use crate::net::registration::{Registration, is_ready, is_tcp};
use crate::netpoll::Mode;

/// Anything with a descriptor that the kernel can poll, made to park goroutines and not their threads: a
/// socket, a pipe, an event descriptor, a terminal, an inotify instance. What tokio's `AsyncFd` and
/// async-io's `Async` are for; Go's `internal/poll.FD`.
///
/// An operation is tried at once. If it would block, the goroutine waits until the descriptor has become
/// ready, and it is tried again. There is one reader at a time, and one writer; others queue up. On a thread
/// that isn't a goroutine's it waits as a thread does.
///
/// ```
/// use std::io::{Read, Write, pipe};
/// use gosched::net::Pollable;
///
/// # // SAFETY: no thread-local is kept across a point that can park.
/// # unsafe {
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
/// # }.unwrap();
/// ```
///
/// What has its own way to read, in [`read_with`](Self::read_with), and to write, in
/// [`write_with`](Self::write_with):
///
/// ```
/// use std::os::unix::net::UnixDatagram;
/// use gosched::net::Pollable;
///
/// # // SAFETY: no thread-local is kept across a point that can park.
/// # unsafe {
/// gosched::run(|| {
///     let (a, b) = UnixDatagram::pair()?;
///     let (a, b) = (Pollable::new(a)?, Pollable::new(b)?);
///     gosched::go(move || a.write_with(|a| a.send(b"hello")));
///     let mut buf = [0; 16];
///     assert_eq!(b.read_with(|b| b.recv(&mut buf))?, 5);
///     Ok::<(), std::io::Error>(())
/// })
/// # }.unwrap();
/// ```
///
/// It may borrow what has the descriptor, and that can't be closed before it:
///
/// ```compile_fail,E0597
/// use std::os::unix::net::UnixStream;
/// use gosched::net::Pollable;
///
/// # fn main() -> std::io::Result<()> {
/// let borrows;
/// let (stream, _peer) = UnixStream::pair()?;
/// borrows = Pollable::new(&stream)?;
/// # Ok(())
/// # }
/// ```
pub struct Pollable<T> {
    /// Dropped before the descriptor is closed.
    registration: Registration<T>,
    inner: T,
}

impl<T: AsFd> Pollable<T> {
    /// Registers the descriptor with the poller, and sets it to non-blocking mode. (The mode is of what the
    /// descriptor stands for: its duplicates have it too, in other processes as well.)
    ///
    /// # Errors
    /// [`Unsupported`](io::ErrorKind::Unsupported) if it can't be waited for, because it is always ready, as
    /// regular files and folders are; [`AlreadyExists`](io::ErrorKind::AlreadyExists) if it is registered;
    /// otherwise the kernel's.
    pub fn new(inner: T) -> io::Result<Self> {
        Self::with_drain(inner, false)
    }

    /// [`new`](Self::new) for what std has for TCP, although it may be another kind of socket.
    pub(super) fn of_tcp(inner: T) -> io::Result<Self> {
        let is_tcp = is_tcp(inner.as_fd());
        Self::with_drain(inner, is_tcp)
    }

    /// [`new`](Self::new); `short_read_drains` as in [`Registration`].
    pub(super) fn with_drain(inner: T, short_read_drains: bool) -> io::Result<Self> {
        let registration = Registration::new(&inner, short_read_drains)?;
        Ok(Pollable { registration, inner })
    }

    /// Waits until something can be read, or the end has come. Another reader may be faster.
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) after the deadline, [`BrokenPipe`](io::ErrorKind::BrokenPipe) after
    /// [`close`](Self::close).
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn readable(&self) -> io::Result<()> {
        self.read_with(|inner| is_ready(inner.as_fd(), Mode::Read))
    }

    /// Waits until something can be written, or nobody reads any more. Another writer may be faster. Of a
    /// [`UnixDatagram`](crate::net::UnixDatagram) that isn't connected it says nothing about whom it sends to.
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
    /// What has the descriptor. To read or write there doesn't wait: it says
    /// [`WouldBlock`](io::ErrorKind::WouldBlock).
    #[inline]
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// What a socket that comes of this one is told in [`with_drain`](Self::with_drain).
    pub(super) fn short_read_drains(&self) -> bool {
        self.registration.short_read_drains()
    }

    /// Takes it off the poller's list. It stays in non-blocking mode.
    pub fn into_inner(self) -> T {
        self.inner
    }

    /// Calls `f`, which reads; again after each wait, as long as it says
    /// [`WouldBlock`](io::ErrorKind::WouldBlock), and at once if it was
    /// [`Interrupted`](io::ErrorKind::Interrupted). Nobody else reads meanwhile: to use this value's reading
    /// functions in `f` is to wait for oneself.
    ///
    /// # Errors
    /// What `f` returns; [`TimedOut`](io::ErrorKind::TimedOut) after the deadline,
    /// [`BrokenPipe`](io::ErrorKind::BrokenPipe) after [`close`](Self::close).
    ///
    /// # Panics
    /// As `f` does; if it would have to wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[inline]
    #[track_caller]
    pub fn read_with<R>(&self, f: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.io(Mode::Read, "a read", f)
    }

    /// [`read_with`](Self::read_with) for what writes. It waits until this descriptor becomes ready, and for nothing
    /// else: with [`std::os::unix::net::UnixDatagram::send_to`], which needs room in the queue of a socket that
    /// this one isn't connected to, it would go round and round. [`UnixDatagram`](crate::net::UnixDatagram) has a
    /// `send_to` that waits.
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

    /// [`read_with`](Self::read_with), or [`write_with`](Self::write_with), of `what`.
    #[inline]
    #[track_caller]
    pub(super) fn io<R>(
        &self,
        mode: Mode,
        what: &str,
        mut f: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.io(mode, what, || f(&self.inner))
    }

    /// [`write_with`](Self::write_with) of something of which nobody tells when it becomes possible.
    #[track_caller]
    pub(super) fn write_untold<R>(&self, mut f: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.registration.io_untold(Mode::Write, "a write", || f(&self.inner))
    }

    /// Sets a time from which on no read waits, and none succeeds: each fails with
    /// [`TimedOut`](io::ErrorKind::TimedOut), one that waits now too. Until it is set to another time, or to none.
    ///
    /// # Panics
    /// Inside [`blocking`](crate::blocking), or before the first [`run`](crate::run): only a goroutine sets a
    /// timer.
    #[track_caller]
    pub fn set_read_deadline(&self, deadline: Option<Instant>) {
        self.registration.set_deadline(Mode::Read, deadline, "set_read_deadline");
    }

    /// [`set_read_deadline`](Self::set_read_deadline) for writes.
    ///
    /// # Panics
    /// As [`set_read_deadline`](Self::set_read_deadline).
    #[track_caller]
    pub fn set_write_deadline(&self, deadline: Option<Instant>) {
        self.registration.set_deadline(Mode::Write, deadline, "set_write_deadline");
    }

    /// Sets how long each read that begins to wait from now on may do so, however often it is woken and finds
    /// nothing; then it fails with [`TimedOut`](io::ErrorKind::TimedOut). While another one reads, it waits for its
    /// turn first, which isn't limited: that one may have begun without a timeout. A deadline ends them all.
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it is 0.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.registration.set_timeout(Mode::Read, timeout)
    }

    /// [`set_read_timeout`](Self::set_read_timeout) for writes; to wait for the turn isn't limited here, either.
    ///
    /// # Errors
    /// As [`set_read_timeout`](Self::set_read_timeout).
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.registration.set_timeout(Mode::Write, timeout)
    }

    /// What [`set_read_timeout`](Self::set_read_timeout) was told last.
    ///
    /// # Errors
    /// None; std's types, which ask the kernel, may have one.
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.registration.timeout(Mode::Read))
    }

    /// What [`set_write_timeout`](Self::set_write_timeout) was told last.
    ///
    /// # Errors
    /// None; std's types, which ask the kernel, may have one.
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.registration.timeout(Mode::Write))
    }

    /// Wakes whoever waits: that operation, and each one after it, fails with
    /// [`BrokenPipe`](io::ErrorKind::BrokenPipe). The descriptor itself is closed when this value is dropped,
    /// which nobody can do while another uses it. A second call does nothing.
    pub fn close(&self) {
        self.registration.close();
    }

    /// What a listener's iterator makes of what was accepted; none if there is nothing after
    /// [`close`](Self::close).
    pub(super) fn unless_closed<S, A>(&self, accepted: io::Result<(S, A)>) -> Option<io::Result<S>> {
        if accepted.is_err() && self.registration.is_closed() {
            return None;
        }
        Some(accepted.map(|(stream, _)| stream))
    }
}

/// How many bytes one read can take: std doesn't give the kernel more buffers than that takes.
fn room(bufs: &[IoSliceMut<'_>]) -> usize {
    bufs.iter().take(libc::UIO_MAXIOV as usize).map(|buf| buf.len()).sum()
}

impl<T: Read> Read for Pollable<T> {
    #[inline]
    #[track_caller]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = buf.len();
        self.registration.read("a read", len, || self.inner.read(buf))
    }

    #[track_caller]
    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let len = room(bufs);
        self.registration.read("a read", len, || self.inner.read_vectored(bufs))
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
        this.registration.read("a read", len, || (&this.inner).read(buf))
    }

    #[track_caller]
    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let this: &'a Pollable<T> = self;
        let len = room(bufs);
        this.registration.read("a read", len, || (&this.inner).read_vectored(bufs))
    }
}

impl<T: Write> Write for Pollable<T> {
    #[inline]
    #[track_caller]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.registration.io(Mode::Write, "a write", || self.inner.write(buf))
    }

    #[track_caller]
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.registration.io(Mode::Write, "a write", || self.inner.write_vectored(bufs))
    }

    #[track_caller]
    fn flush(&mut self) -> io::Result<()> {
        self.registration.io(Mode::Write, "a write", || self.inner.flush())
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
        this.registration.io(Mode::Write, "a write", || (&this.inner).write(buf))
    }

    #[track_caller]
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let this: &'a Pollable<T> = self;
        this.registration.io(Mode::Write, "a write", || (&this.inner).write_vectored(bufs))
    }

    #[track_caller]
    fn flush(&mut self) -> io::Result<()> {
        let this: &'a Pollable<T> = self;
        this.registration.io(Mode::Write, "a write", || (&this.inner).flush())
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
    /// That of [`into_inner`](Pollable::into_inner).
    fn into_raw_fd(self) -> RawFd {
        self.into_inner().into_raw_fd()
    }
}

impl<T: Into<OwnedFd>> From<Pollable<T>> for OwnedFd {
    /// That of [`into_inner`](Pollable::into_inner).
    fn from(ours: Pollable<T>) -> Self {
        ours.into_inner().into()
    }
}

impl<T: fmt::Debug> fmt::Debug for Pollable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pollable").field(&self.inner).finish()
    }
}
