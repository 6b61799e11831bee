//! [`With`] for values that are read and written.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::net as unix;

use crate::context::With;
use crate::net::{Pollable, TcpListener, TcpStream, UnixListener, UnixStream, is_ready, room};
use crate::runtime::Mode;

/// Operations end with an error that [`ContextError::of`](crate::context::ContextError::of) finds.
/// The context doesn't limit the wait of an operation for its turn, while another goroutine reads
/// or writes.
///
/// ```
/// use std::io::{Read, Write};
/// use gosched::context::{Context, ContextError};
/// use gosched::net::UnixStream;
///
/// gosched::run(|| {
///     let (here, mut there) = UnixStream::pair()?;
///     let (ctx, cancel) = Context::background().with_cancel();
///     there.write_all(b"hello")?;
///     let (mut stream, mut buf) = (ctx.with(&here), [0; 16]);
///     assert_eq!(stream.read(&mut buf)?, 5);
///     gosched::go(move || cancel.cancel());
///     let error = stream.read(&mut buf).unwrap_err();
///     assert_eq!(ContextError::of(&error), Some(ContextError::Canceled));
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
impl<T> With<'_, '_, Pollable<T>> {
    /// [`Pollable::read_with`] that ends with the context.
    ///
    /// ```
    /// use gosched::context::Context;
    /// use gosched::net::UnixDatagram;
    ///
    /// gosched::run(|| {
    ///     let (ctx, _cancel) = Context::background().with_cancel();
    ///     let (here, there) = UnixDatagram::pair()?;
    ///     there.send(b"hello")?;
    ///     let mut buf = [0; 16];
    ///     assert_eq!(ctx.with(&here).read_with(|socket| socket.recv(&mut buf))?, 5);
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As there; and if the context has ended.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn read_with<R>(&self, f: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        let limit = self.ctx.begin()?;
        self.ctx.end(self.on.io_limited(Mode::Read, "a read", limit, f))
    }

    /// [`Pollable::write_with`] that ends with the context.
    ///
    /// ```
    /// use gosched::context::Context;
    /// use gosched::net::UnixDatagram;
    ///
    /// gosched::run(|| {
    ///     let (ctx, _cancel) = Context::background().with_cancel();
    ///     let (here, _there) = UnixDatagram::pair()?;
    ///     assert_eq!(ctx.with(&here).write_with(|socket| socket.send(b"hello"))?, 5);
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As there; and if the context has ended.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn write_with<R>(&self, f: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        let limit = self.ctx.begin()?;
        self.ctx.end(self.on.io_limited(Mode::Write, "a write", limit, f))
    }
}

impl<T: AsFd> With<'_, '_, Pollable<T>> {
    /// [`Pollable::readable`] that ends with the context.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::context::{Context, ContextError};
    /// use gosched::net::UnixStream;
    ///
    /// gosched::run(|| {
    ///     let (ctx, _cancel) = Context::background().with_timeout(Duration::from_millis(1));
    ///     let (here, _there) = UnixStream::pair()?;
    ///     let error = ctx.with(&here).readable().unwrap_err();
    ///     assert_eq!(ContextError::of(&error), Some(ContextError::DeadlineExceeded));
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
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
    /// ```
    /// use gosched::context::Context;
    /// use gosched::net::UnixStream;
    ///
    /// gosched::run(|| {
    ///     let (ctx, _cancel) = Context::background().with_cancel();
    ///     let (here, _there) = UnixStream::pair()?;
    ///     ctx.with(&here).writable() // there is room
    /// })
    /// .unwrap();
    /// ```
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

impl<'a, T> Read for With<'_, 'a, Pollable<T>>
where
    &'a T: Read,
{
    #[track_caller]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let limit = self.ctx.begin()?;
        self.ctx.end(self.on.read_limited(buf.len(), limit, || self.on.get_ref().read(buf)))
    }

    #[track_caller]
    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let limit = self.ctx.begin()?;
        self.ctx.end(self.on.read_limited(room(bufs), limit, || self.on.get_ref().read_vectored(bufs)))
    }
}

impl<'a, T> Write for With<'_, 'a, Pollable<T>>
where
    &'a T: Write,
{
    #[track_caller]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let limit = self.ctx.begin()?;
        self.ctx.end(self.on.io_limited(Mode::Write, "a write", limit, |_| self.on.get_ref().write(buf)))
    }

    #[track_caller]
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let limit = self.ctx.begin()?;
        self.ctx.end(
            self.on.io_limited(Mode::Write, "a write", limit, |_| self.on.get_ref().write_vectored(bufs)),
        )
    }

    #[track_caller]
    fn flush(&mut self) -> io::Result<()> {
        let limit = self.ctx.begin()?;
        self.ctx.end(self.on.io_limited(Mode::Write, "a write", limit, |_| self.on.get_ref().flush()))
    }
}

impl With<'_, '_, TcpStream> {
    /// [`TcpStream::finish_connect`] that ends with the context: with [`TcpStream::begin_connect`]
    /// before it, Go's `Dialer.DialContext`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::context::Context;
    /// use gosched::net::{TcpListener, TcpStream};
    ///
    /// gosched::run(|| {
    ///     let listener = TcpListener::bind("127.0.0.1:0")?;
    ///     let (ctx, _cancel) = Context::background().with_timeout(Duration::from_secs(60));
    ///     let stream = TcpStream::begin_connect(&listener.local_addr()?)?;
    ///     ctx.with(&stream).finish_connect()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As there; and if the context has ended.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn finish_connect(&self) -> io::Result<()> {
        let limit = self.ctx.begin()?;
        self.ctx.end(self.on.finish_connect_limited(limit))
    }
}

impl With<'_, '_, TcpListener> {
    /// [`TcpListener::accept`] that ends with the context.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::context::{Context, ContextError};
    /// use gosched::net::TcpListener;
    ///
    /// gosched::run(|| {
    ///     let listener = TcpListener::bind("127.0.0.1:0")?;
    ///     let (ctx, _cancel) = Context::background().with_timeout(Duration::from_millis(1));
    ///     let error = ctx.with(&listener).accept().unwrap_err();
    ///     assert_eq!(ContextError::of(&error), Some(ContextError::DeadlineExceeded));
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As there; and if the context has ended.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let limit = self.ctx.begin()?;
        self.ctx.end(self.on.accept_limited(limit))
    }
}

impl With<'_, '_, UnixListener> {
    /// [`UnixListener::accept`] that ends with the context.
    ///
    /// ```
    /// use gosched::context::Context;
    /// use gosched::fs;
    /// use gosched::net::{UnixListener, UnixStream};
    ///
    /// gosched::run(|| {
    ///     let (ctx, _cancel) = Context::background().with_cancel();
    ///     let path = std::env::temp_dir().join(format!("gosched-accept-{}", std::process::id()));
    ///     let listener = UnixListener::bind(&path)?;
    ///     let _client = UnixStream::connect(&path)?;
    ///     ctx.with(&listener).accept()?;
    ///     fs::remove_file(&path)
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As there; and if the context has ended.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn accept(&self) -> io::Result<(UnixStream, unix::SocketAddr)> {
        let limit = self.ctx.begin()?;
        self.ctx.end(self.on.accept_limited(limit))
    }
}
