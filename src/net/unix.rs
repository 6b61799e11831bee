//! Sockets of this machine: [`UnixStream`], [`UnixListener`], [`UnixDatagram`].

use std::io;
use std::iter::FusedIterator;
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;

use crate::blocking::ignoring_eintr;
use crate::net::Pollable;
use crate::netpoll::Mode;

/// A connection: [`std::os::unix::net::UnixStream`], on which only goroutines wait. Go's `net.UnixConn`.
pub type UnixStream = Pollable<net::UnixStream>;

/// A socket that waits for connections: [`std::os::unix::net::UnixListener`], on which only goroutines wait.
/// Go's `net.UnixListener`.
pub type UnixListener = Pollable<net::UnixListener>;

/// A socket for datagrams: [`std::os::unix::net::UnixDatagram`], on which only goroutines wait. Go's
/// `net.UnixConn`, too.
pub type UnixDatagram = Pollable<net::UnixDatagram>;

fn pair<T: std::os::fd::AsFd>((a, b): (T, T)) -> io::Result<(Pollable<T>, Pollable<T>)> {
    Ok((Pollable::new(a)?, Pollable::new(b)?))
}

/// Each function that waits has the errors of [`read_with`](Pollable::read_with), and panics where
/// [`readable`](Pollable::readable) does.
impl Pollable<net::UnixStream> {
    /// Connects to the socket at `path`. Where many do so at once, it waits until there is room in the
    /// listener's queue; as the kernel has no other way, in [`blocking`](crate::blocking), each on a thread. That
    /// has no time limit, and where there may be thousands, they have to take turns, with a
    /// [`Semaphore`](crate::sync::Semaphore).
    ///
    /// # Errors
    /// The kernel's.
    pub fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::new(ignoring_eintr(|| net::UnixStream::connect(&path))?)
    }

    /// [`connect`](Self::connect) to an address, of whatever kind it is.
    ///
    /// # Errors
    /// The kernel's.
    pub fn connect_addr(addr: &SocketAddr) -> io::Result<Self> {
        Self::new(ignoring_eintr(|| net::UnixStream::connect_addr(addr))?)
    }

    /// Two that are connected to each other.
    ///
    /// # Errors
    /// As [`new`](Self::new), or if there can be no more descriptors.
    pub fn pair() -> io::Result<(Self, Self)> {
        pair(net::UnixStream::pair()?)
    }
}

/// Each function that waits has the errors of [`read_with`](Pollable::read_with), and panics where
/// [`readable`](Pollable::readable) does.
impl Pollable<net::UnixListener> {
    /// Listens at `path`, where there must be nothing; whoever is done removes it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::new(net::UnixListener::bind(path)?)
    }

    /// Listens at an address, of whatever kind it is.
    ///
    /// # Errors
    /// The kernel's.
    pub fn bind_addr(addr: &SocketAddr) -> io::Result<Self> {
        Self::new(net::UnixListener::bind_addr(addr)?)
    }

    /// Waits for a connection, and returns it with the address of the other end.
    ///
    /// # Errors
    /// As [`read_with`](Self::read_with). After an error because there can be no more descriptors, the
    /// connection is still there to be accepted.
    #[track_caller]
    pub fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        let (stream, addr) = self.io(Mode::Read, "an accept", net::UnixListener::accept)?;
        Ok((UnixStream::new(stream)?, addr))
    }

    /// The connections, one after the other: [`accept`](Self::accept) without the address. It ends when the
    /// listener is [closed](Self::close).
    pub fn incoming(&self) -> UnixIncoming<'_> {
        UnixIncoming { listener: self }
    }
}

/// The connections that a [`UnixListener`] accepts.
#[derive(Debug)]
pub struct UnixIncoming<'a> {
    listener: &'a UnixListener,
}

impl Iterator for UnixIncoming<'_> {
    type Item = io::Result<UnixStream>;

    fn next(&mut self) -> Option<Self::Item> {
        self.listener.unless_closed(self.listener.accept())
    }
}

impl FusedIterator for UnixIncoming<'_> {}

impl<'a> IntoIterator for &'a Pollable<net::UnixListener> {
    type Item = io::Result<UnixStream>;
    type IntoIter = UnixIncoming<'a>;

    /// [`incoming`](Pollable::incoming).
    fn into_iter(self) -> UnixIncoming<'a> {
        self.incoming()
    }
}

/// Each function that waits has the errors of [`read_with`](Pollable::read_with), and panics where
/// [`readable`](Pollable::readable) does.
impl Pollable<net::UnixDatagram> {
    /// A socket at `path`, where there must be nothing; whoever is done removes it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::new(net::UnixDatagram::bind(path)?)
    }

    /// A socket at an address, of whatever kind it is.
    ///
    /// # Errors
    /// The kernel's.
    pub fn bind_addr(addr: &SocketAddr) -> io::Result<Self> {
        Self::new(net::UnixDatagram::bind_addr(addr)?)
    }

    /// A socket without an address.
    ///
    /// # Errors
    /// As [`new`](Self::new), or if there can be no more descriptors.
    pub fn unbound() -> io::Result<Self> {
        Self::new(net::UnixDatagram::unbound()?)
    }

    /// Two that are connected to each other.
    ///
    /// # Errors
    /// As [`new`](Self::new), or if there can be no more descriptors.
    pub fn pair() -> io::Result<(Self, Self)> {
        pair(net::UnixDatagram::pair()?)
    }

    /// Sets where [`send`](Self::send) sends to, and what [`recv`](Self::recv) receives from.
    ///
    /// # Errors
    /// The kernel's.
    pub fn connect(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.get_ref().connect(path)
    }

    /// [`connect`](Self::connect) to an address, of whatever kind it is.
    ///
    /// # Errors
    /// The kernel's.
    pub fn connect_addr(&self, addr: &SocketAddr) -> io::Result<()> {
        self.get_ref().connect_addr(addr)
    }

    /// Sends a datagram to the socket at `path`; returns its length. While that one's queue is full, it is tried
    /// again after 50 µs, and then less and less often, down to each 10 ms: the kernel tells of room only who is
    /// connected. Where that is too late, there is [`connect`](Self::connect).
    ///
    /// # Errors
    /// As [`write_with`](Self::write_with).
    #[track_caller]
    pub fn send_to(&self, buf: &[u8], path: impl AsRef<Path>) -> io::Result<usize> {
        self.write_untold(|socket| socket.send_to(buf, path.as_ref()))
    }

    /// [`send_to`](Self::send_to) an address, of whatever kind it is.
    ///
    /// # Errors
    /// As [`write_with`](Self::write_with).
    #[track_caller]
    pub fn send_to_addr(&self, buf: &[u8], addr: &SocketAddr) -> io::Result<usize> {
        self.write_untold(|socket| socket.send_to_addr(buf, addr))
    }
}
