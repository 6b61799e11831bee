//! [`TcpStream`] and [`TcpListener`].

use std::ffi::c_int;
use std::io::{self, ErrorKind};
use std::iter::FusedIterator;
use std::net::{self, SocketAddr, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use crate::net::Pollable;
use crate::net::connect::connect;
use crate::net::registration::not_zero;
use crate::net::resolve::each_addr;
use crate::netpoll::Mode;

/// A TCP connection: [`std::net::TcpStream`], on which only goroutines wait. Go's `net.TCPConn`.
pub type TcpStream = Pollable<net::TcpStream>;

/// A socket that waits for connections: [`std::net::TcpListener`], on which only goroutines wait. Go's
/// `net.TCPListener`.
pub type TcpListener = Pollable<net::TcpListener>;

impl Pollable<net::TcpStream> {
    /// Connects to the first of the addresses that it can be connected to. A name is resolved in
    /// [`blocking`](crate::blocking); to connect blocks no thread.
    ///
    /// # Errors
    /// What came of the last address, or of resolving the name;
    /// [`InvalidInput`](ErrorKind::InvalidInput) if there is no address.
    ///
    /// # Panics
    /// Inside [`blocking`](crate::blocking), or before the first [`run`](crate::run), where it can't wait.
    #[track_caller]
    pub fn connect(addrs: impl ToSocketAddrs) -> io::Result<Self> {
        each_addr(addrs, |addr| connect(addr, None))
    }

    /// Connects to `addr` within `timeout`.
    ///
    /// # Errors
    /// [`TimedOut`](ErrorKind::TimedOut) if it takes longer, [`InvalidInput`](ErrorKind::InvalidInput) if
    /// `timeout` is 0; otherwise the kernel's.
    ///
    /// # Panics
    /// As [`connect`](Self::connect).
    #[track_caller]
    pub fn connect_timeout(addr: &SocketAddr, timeout: Duration) -> io::Result<Self> {
        not_zero(timeout)?;
        connect(addr, Instant::now().checked_add(timeout))
    }

    /// Reads as [`Read::read`](io::Read::read) does, and leaves it to be read again.
    ///
    /// # Errors
    /// As [`read_with`](Self::read_with).
    ///
    /// # Panics
    /// As [`readable`](Self::readable).
    #[track_caller]
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.read_with(|stream| stream.peek(buf))
    }
}

/// Lets as many connections wait to be accepted as the system allows (`net.core.somaxconn`). Go's
/// `maxListenerBacklog`, in `sock_linux.go`.
///
/// std lets 128: of a burst of more, each is tried again after seconds only.
fn with_max_backlog(listener: net::TcpListener) -> io::Result<net::TcpListener> {
    // SAFETY: no memory is passed. A socket that listens takes another limit; the kernel lowers it to its own.
    match unsafe { libc::listen(listener.as_raw_fd(), c_int::MAX) } {
        0 => Ok(listener),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Pollable<net::TcpListener> {
    /// Listens at the first of the addresses at which it can, as
    /// [`std::net::TcpListener::bind`] does. With port 0 the kernel chooses one, which
    /// [`local_addr`](Self::local_addr) tells. As many connections as the system allows may wait to be accepted:
    /// std allows 128.
    ///
    /// # Errors
    /// What came of the last address, or of resolving the name;
    /// [`InvalidInput`](ErrorKind::InvalidInput) if there is no address.
    pub fn bind(addrs: impl ToSocketAddrs) -> io::Result<Self> {
        let listener = each_addr(addrs, |addr| net::TcpListener::bind(addr))?;
        Self::with_drain(with_max_backlog(listener)?, true)
    }

    /// Waits for a connection, and returns it with the address of the other end. One that was broken off
    /// before is passed over.
    ///
    /// # Errors
    /// As [`read_with`](Self::read_with). After an error because there can be no more descriptors, the
    /// connection is still there to be accepted.
    ///
    /// # Panics
    /// As [`readable`](Self::readable).
    #[track_caller]
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, addr) = self.io(Mode::Read, "an accept", |listener| match listener.accept() {
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => Err(ErrorKind::Interrupted.into()),
            result => result,
        })?;
        Ok((TcpStream::with_drain(stream, self.short_read_drains())?, addr))
    }

    /// The connections, one after the other: [`accept`](Self::accept) without the address. It ends when the
    /// listener is [closed](Self::close).
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming { listener: self }
    }
}

/// The connections that a [`TcpListener`] accepts.
#[derive(Debug)]
pub struct Incoming<'a> {
    listener: &'a TcpListener,
}

impl Iterator for Incoming<'_> {
    type Item = io::Result<TcpStream>;

    fn next(&mut self) -> Option<Self::Item> {
        self.listener.unless_closed(self.listener.accept())
    }
}

impl FusedIterator for Incoming<'_> {}
