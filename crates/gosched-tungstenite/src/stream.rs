//! The stream that tungstenite reads and writes.

use std::io::{self, ErrorKind, Read, Write};
use std::mem::swap;
use std::os::fd::AsFd;
use std::sync::Arc;

use gosched::context::Context;
use gosched::net::Pollable;

/// The owner of a socket's descriptor: std's `TcpStream`, `UnixStream`, and whatever else has a
/// descriptor and is read and written by reference. [`WebSocket`](crate::WebSocket)s are made from
/// `Pollable`s of it, such as [`gosched::net::TcpStream`].
pub trait Socket: AsFd + Send + Sync + 'static {
    /// Reads, and waits until it can or the context has ended.
    #[doc(hidden)]
    fn read_waiting(stream: &Pollable<Self>, ctx: &Context, buf: &mut [u8]) -> io::Result<usize>
    where
        Self: Sized;

    /// Writes, and waits until it can.
    #[doc(hidden)]
    fn write_waiting(stream: &Pollable<Self>, buf: &[u8]) -> io::Result<usize>
    where
        Self: Sized;

    /// Writes what there is room for.
    #[doc(hidden)]
    fn write_now(&self, buf: &[u8]) -> io::Result<usize>;
}

impl<T> Socket for T
where
    T: AsFd + Send + Sync + 'static,
    for<'a> &'a T: Read + Write,
{
    fn read_waiting(stream: &Pollable<T>, ctx: &Context, buf: &mut [u8]) -> io::Result<usize> {
        ctx.with(stream).read(buf)
    }

    fn write_waiting(stream: &Pollable<T>, buf: &[u8]) -> io::Result<usize> {
        (&mut &*stream).write(buf)
    }

    fn write_now(&self, buf: &[u8]) -> io::Result<usize> {
        let mut this = self;
        loop {
            match this.write(buf) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

/// A socket that waits during the handshake. After [`open`](Self::open) it doesn't: it reads only
/// what it was given, and writes only what there is room for.
pub(crate) struct Stream<T> {
    pub(crate) socket: Arc<Pollable<T>>,
    open: bool,
    /// The bytes that it was given.
    bytes: Vec<u8>,
    /// The number of these that were read.
    read: usize,
    /// Whether the end comes behind them.
    ended: bool,
}

impl<T> Stream<T> {
    pub(crate) fn new(socket: Arc<Pollable<T>>) -> Self {
        Stream { socket, open: false, bytes: Vec::new(), read: 0, ended: false }
    }

    /// Ends the handshake.
    pub(crate) fn open(&mut self) {
        self.open = true;
    }

    /// Gives it bytes to read, and takes back an empty buffer. All bytes that it had were read. No
    /// bytes are the end.
    pub(crate) fn give(&mut self, bytes: &mut Vec<u8>) {
        self.ended |= bytes.is_empty();
        self.bytes.clear();
        swap(&mut self.bytes, bytes);
        self.read = 0;
    }
}

impl<T: Socket> Read for Stream<T> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if !self.open {
            return T::read_waiting(&self.socket, &Context::background(), buf);
        }
        let n = (&self.bytes[self.read..]).read(buf)?;
        self.read += n;
        if n == 0 && !buf.is_empty() && !self.ended {
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(n)
    }
}

impl<T: Socket> Write for Stream<T> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if self.open { self.socket.get_ref().write_now(buf) } else { T::write_waiting(&self.socket, buf) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
