//! Unix domain sockets: [`UnixStream`], [`UnixListener`], [`UnixDatagram`].

use std::io;
use std::iter::FusedIterator;
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;

use crate::goroutine::ignoring_eintr;
use crate::net::{Limit, Pollable};
use crate::runtime::Mode;

/// A connection on this machine: [`std::os::unix::net::UnixStream`], on which only goroutines wait.
/// Go's `net.UnixConn`.
///
/// ```
/// use std::io::{Read, Write};
/// use gosched::net::UnixStream;
///
/// gosched::run(|| {
///     let (mut here, mut there) = UnixStream::pair()?;
///     there.write_all(b"hello")?;
///     drop(there);
///     let mut text = String::new();
///     here.read_to_string(&mut text)?;
///     assert_eq!(text, "hello");
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
pub type UnixStream = Pollable<net::UnixStream>;

/// A socket that accepts connections: [`std::os::unix::net::UnixListener`], on which only
/// goroutines wait. Go's `net.UnixListener`.
///
/// ```
/// use gosched::fs;
/// use gosched::net::{UnixListener, UnixStream};
///
/// gosched::run(|| {
///     let path = std::env::temp_dir().join(format!("gosched-listener-{}", std::process::id()));
///     let listener = UnixListener::bind(&path)?;
///     let _client = UnixStream::connect(&path)?;
///     let (_server, _addr) = listener.accept()?;
///     fs::remove_file(&path)
/// })
/// .unwrap();
/// ```
pub type UnixListener = Pollable<net::UnixListener>;

/// A socket for datagrams: [`std::os::unix::net::UnixDatagram`], on which only goroutines wait.
/// Go's `net.UnixConn`, too.
///
/// ```
/// use gosched::net::UnixDatagram;
///
/// gosched::run(|| {
///     let (a, b) = UnixDatagram::pair()?;
///     a.send(b"hello")?;
///     let mut buf = [0; 16];
///     assert_eq!(b.recv(&mut buf)?, 5);
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
pub type UnixDatagram = Pollable<net::UnixDatagram>;

fn pair<T: std::os::fd::AsFd>((a, b): (T, T)) -> io::Result<(Pollable<T>, Pollable<T>)> {
    Ok((Pollable::new(a)?, Pollable::new(b)?))
}

/// Each function that waits has the errors of [`read_with`](Pollable::read_with), and panics where
/// [`readable`](Pollable::readable) does.
impl Pollable<net::UnixStream> {
    /// Connects to the socket at `path`. If the listener's queue is full, it waits for room, in
    /// [`blocking`](crate::blocking), because the kernel has no other way. Each such wait takes a
    /// thread, and has no time limit. A program that makes thousands of connections at once should
    /// limit that with a [`Semaphore`](crate::sync::Semaphore).
    ///
    /// # Errors
    /// The kernel's.
    pub fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::new(ignoring_eintr(|| net::UnixStream::connect(&path))?)
    }

    /// [`connect`](Self::connect) to an address, which may be an abstract one.
    ///
    /// # Errors
    /// The kernel's.
    pub fn connect_addr(addr: &SocketAddr) -> io::Result<Self> {
        Self::new(ignoring_eintr(|| net::UnixStream::connect_addr(addr))?)
    }

    /// Two sockets that are connected to each other.
    ///
    /// # Errors
    /// As [`new`](Self::new), and if the process can't have another descriptor.
    pub fn pair() -> io::Result<(Self, Self)> {
        pair(net::UnixStream::pair()?)
    }
}

/// Each function that waits has the errors of [`read_with`](Pollable::read_with), and panics where
/// [`readable`](Pollable::readable) does.
impl Pollable<net::UnixListener> {
    /// Listens at `path`, where no file may be. Nothing removes the file afterwards.
    ///
    /// # Errors
    /// The kernel's.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::new(net::UnixListener::bind(path)?)
    }

    /// Listens at an address, which may be an abstract one.
    ///
    /// ```
    /// use std::os::linux::net::SocketAddrExt;
    /// use std::os::unix::net::SocketAddr;
    /// use gosched::net::{UnixListener, UnixStream};
    ///
    /// gosched::run(|| {
    ///     let addr = SocketAddr::from_abstract_name(format!("gosched-{}", std::process::id()))?; // no file
    ///     let listener = UnixListener::bind_addr(&addr)?;
    ///     let _client = UnixStream::connect_addr(&addr)?;
    ///     listener.accept().map(|_| ())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The kernel's.
    pub fn bind_addr(addr: &SocketAddr) -> io::Result<Self> {
        Self::new(net::UnixListener::bind_addr(addr)?)
    }

    /// Waits for a connection, and returns it with the address of the other end.
    ///
    /// # Errors
    /// As [`read_with`](Self::read_with). If the process can't have another descriptor, the
    /// connection stays in the queue, to be accepted later.
    #[track_caller]
    pub fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        self.accept_limited(Limit::default())
    }

    /// [`accept`](Self::accept) with a limit.
    #[track_caller]
    pub(crate) fn accept_limited(&self, limit: Limit<'_>) -> io::Result<(UnixStream, SocketAddr)> {
        let (stream, addr) = self.io_limited(Mode::Read, "an accept", limit, net::UnixListener::accept)?;
        Ok((UnixStream::new(stream)?, addr))
    }

    /// An iterator of connections: [`accept`](Self::accept) without the address. It ends when the
    /// listener is [closed](Self::close).
    pub fn incoming(&self) -> UnixIncoming<'_> {
        UnixIncoming { listener: self }
    }
}

/// The connections that a [`UnixListener`] accepts.
///
/// ```
/// use gosched::fs;
/// use gosched::net::{UnixListener, UnixStream};
///
/// gosched::run(|| {
///     let path = std::env::temp_dir().join(format!("gosched-incoming-{}", std::process::id()));
///     let listener = UnixListener::bind(&path)?;
///     let _client = UnixStream::connect(&path)?;
///     for stream in listener.incoming().take(1) {
///         println!("{:?}", stream?.local_addr()?);
///     }
///     fs::remove_file(&path)
/// })
/// .unwrap();
/// ```
#[must_use = "an iterator accepts nothing until it is asked for a connection"]
#[derive(Debug)]
pub struct UnixIncoming<'a> {
    listener: &'a UnixListener,
}

impl Iterator for UnixIncoming<'_> {
    type Item = io::Result<UnixStream>;

    #[track_caller]
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
    /// A socket that is bound to `path`, where no file may be. Nothing removes the file afterwards.
    ///
    /// # Errors
    /// The kernel's.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::new(net::UnixDatagram::bind(path)?)
    }

    /// A socket that is bound to an address, which may be an abstract one.
    ///
    /// # Errors
    /// The kernel's.
    pub fn bind_addr(addr: &SocketAddr) -> io::Result<Self> {
        Self::new(net::UnixDatagram::bind_addr(addr)?)
    }

    /// A socket without an address.
    ///
    /// # Errors
    /// As [`new`](Self::new), and if the process can't have another descriptor.
    pub fn unbound() -> io::Result<Self> {
        Self::new(net::UnixDatagram::unbound()?)
    }

    /// Two sockets that are connected to each other.
    ///
    /// # Errors
    /// As [`new`](Self::new), and if the process can't have another descriptor.
    pub fn pair() -> io::Result<(Self, Self)> {
        pair(net::UnixDatagram::pair()?)
    }

    /// Sets the path that [`send`](Self::send) sends to and [`recv`](Self::recv) receives from.
    ///
    /// # Errors
    /// The kernel's.
    pub fn connect(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.get_ref().connect(path)
    }

    /// [`connect`](Self::connect) to an address, which may be an abstract one.
    ///
    /// # Errors
    /// The kernel's.
    pub fn connect_addr(&self, addr: &SocketAddr) -> io::Result<()> {
        self.get_ref().connect_addr(addr)
    }

    /// Sends a datagram to the socket at `path`; returns its length. While that socket's queue is
    /// full, it tries again after 50 µs, then after pauses that double, up to 10 ms, because the
    /// kernel only reports room to sockets that are connected. If that is too slow, use
    /// [`connect`](Self::connect).
    ///
    /// ```
    /// use gosched::fs;
    /// use gosched::net::UnixDatagram;
    ///
    /// gosched::run(|| {
    ///     let path = std::env::temp_dir().join(format!("gosched-datagram-{}", std::process::id()));
    ///     let receiver = UnixDatagram::bind(&path)?;
    ///     UnixDatagram::unbound()?.send_to(b"hello", &path)?;
    ///     let mut buf = [0; 16];
    ///     assert_eq!(receiver.recv_from(&mut buf)?.0, 5);
    ///     fs::remove_file(&path)
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`write_with`](Self::write_with).
    #[track_caller]
    pub fn send_to(&self, buf: &[u8], path: impl AsRef<Path>) -> io::Result<usize> {
        self.write_untold(|socket| socket.send_to(buf, path.as_ref()))
    }

    /// [`send_to`](Self::send_to) an address, which may be an abstract one.
    ///
    /// # Errors
    /// As [`write_with`](Self::write_with).
    #[track_caller]
    pub fn send_to_addr(&self, buf: &[u8], addr: &SocketAddr) -> io::Result<usize> {
        self.write_untold(|socket| socket.send_to_addr(buf, addr))
    }
}
