//! [`With`] of what is read and written.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::net as unix;

use crate::context::With;
use crate::net::{Limit, Pollable, TcpListener, TcpStream, UnixListener, UnixStream, is_ready, room};
use crate::runtime::Mode;

impl<'a, T> With<'a, T> {
    /// The limit of an operation of a descriptor, unless the context has ended.
    fn begin(&self) -> io::Result<Limit<'a>> {
        self.ctx.check()?;
        Ok(self.ctx.scope().map_or_else(Limit::default, |scope| Limit::canceled_by(scope.waits())))
    }

    /// What an operation has come to that had this limit: if it was canceled, it has ended as by a deadline.
    fn end<R>(&self, result: io::Result<R>) -> io::Result<R> {
        result.map_err(|error| match self.ctx.err() {
            Some(ended) if error.kind() == ErrorKind::TimedOut => ended.into(),
            _ => error,
        })
    }
}

/// Operations end with an error that [`ContextError::of`](crate::context::ContextError::of) finds. The time in which one waits for its
/// turn, while another goroutine reads or writes, isn't limited.
///
/// ```
/// use std::io::{Read, Write};
/// use std::time::Duration;
/// use gosched::context::{Context, ContextError};
/// use gosched::net::UnixStream;
///
/// gosched::run(|| {
///     let (here, mut there) = UnixStream::pair()?;
///     let (ctx, _cancel) = Context::background().with_timeout(Duration::from_millis(5));
///     there.write_all(b"hello")?;
///     let (mut stream, mut buf) = (ctx.with(&here), [0; 16]);
///     assert_eq!(stream.read(&mut buf)?, 5);
///     let error = stream.read(&mut buf).unwrap_err();
///     assert_eq!(ContextError::of(&error), Some(ContextError::DeadlineExceeded));
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
impl<T> With<'_, Pollable<T>> {
    /// [`Pollable::read_with`] that ends with the context.
    ///
    /// # Errors
    /// As there; and if the context has ended.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn read_with<R>(&self, f: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        let limit = self.begin()?;
        self.end(self.on.io_limited(Mode::Read, "a read", limit, f))
    }

    /// [`Pollable::write_with`] that ends with the context.
    ///
    /// # Errors
    /// As there; and if the context has ended.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn write_with<R>(&self, f: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        let limit = self.begin()?;
        self.end(self.on.io_limited(Mode::Write, "a write", limit, f))
    }
}

impl<T: AsFd> With<'_, Pollable<T>> {
    /// [`Pollable::readable`] that ends with the context.
    ///
    /// # Errors
    /// As there; and if the context has ended.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn readable(&self) -> io::Result<()> {
        self.read_with(|inner| is_ready(inner.as_fd(), Mode::Read))
    }

    /// [`Pollable::writable`] that ends with the context.
    ///
    /// # Errors
    /// As there; and if the context has ended.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn writable(&self) -> io::Result<()> {
        self.write_with(|inner| is_ready(inner.as_fd(), Mode::Write))
    }
}

impl<'a, T> Read for With<'a, Pollable<T>>
where
    &'a T: Read,
{
    #[track_caller]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let limit = self.begin()?;
        self.end(self.on.read_limited(buf.len(), limit, || self.on.get_ref().read(buf)))
    }

    #[track_caller]
    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let limit = self.begin()?;
        self.end(self.on.read_limited(room(bufs), limit, || self.on.get_ref().read_vectored(bufs)))
    }
}

impl<'a, T> Write for With<'a, Pollable<T>>
where
    &'a T: Write,
{
    #[track_caller]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let limit = self.begin()?;
        self.end(self.on.io_limited(Mode::Write, "a write", limit, |_| self.on.get_ref().write(buf)))
    }

    #[track_caller]
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let limit = self.begin()?;
        self.end(
            self.on.io_limited(Mode::Write, "a write", limit, |_| self.on.get_ref().write_vectored(bufs)),
        )
    }

    #[track_caller]
    fn flush(&mut self) -> io::Result<()> {
        let limit = self.begin()?;
        self.end(self.on.io_limited(Mode::Write, "a write", limit, |_| self.on.get_ref().flush()))
    }
}

impl With<'_, TcpStream> {
    /// [`TcpStream::finish_connect`] that ends with the context: with [`TcpStream::begin_connect`] before it, Go's
    /// `Dialer.DialContext`.
    ///
    /// # Errors
    /// As there; and if the context has ended.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn finish_connect(&self) -> io::Result<()> {
        let limit = self.begin()?;
        self.end(self.on.finish_connect_limited(limit))
    }
}

impl With<'_, TcpListener> {
    /// [`TcpListener::accept`] that ends with the context.
    ///
    /// # Errors
    /// As there; and if the context has ended.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let limit = self.begin()?;
        self.end(self.on.accept_limited(limit))
    }
}

impl With<'_, UnixListener> {
    /// [`UnixListener::accept`] that ends with the context.
    ///
    /// # Errors
    /// As there; and if the context has ended.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn accept(&self) -> io::Result<(UnixStream, unix::SocketAddr)> {
        let limit = self.begin()?;
        self.end(self.on.accept_limited(limit))
    }
}
