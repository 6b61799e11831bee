//! [`TcpStream`] and [`TcpListener`]. Connecting is done here, because std can't do it without
//! blocking a thread.

use std::ffi::c_int;
use std::io::{self, ErrorKind};
use std::iter::FusedIterator;
use std::mem::zeroed;
use std::net::{self, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::net::registration::{is_ready, not_zero};
use crate::net::resolve::{addresses, each_addr, no_address};
use crate::net::{Limit, Pollable};
use crate::runtime::Mode;

/// A TCP connection: [`std::net::TcpStream`], on which only goroutines wait. Go's `net.TCPConn`.
///
/// ```
/// use std::io::{Read, Write};
/// use gosched::net::{TcpListener, TcpStream};
///
/// gosched::run(|| {
///     let listener = TcpListener::bind("127.0.0.1:0")?;
///     let mut client = TcpStream::connect(listener.local_addr()?)?;
///     let (mut server, _) = listener.accept()?;
///     client.set_nodelay(true)?;
///     client.write_all(b"hello")?;
///     client.shutdown(std::net::Shutdown::Write)?;
///     let mut text = String::new();
///     server.read_to_string(&mut text)?;
///     assert_eq!(text, "hello");
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
pub type TcpStream = Pollable<net::TcpStream>;

/// A socket that accepts connections: [`std::net::TcpListener`], on which only goroutines wait.
/// Go's `net.TCPListener`.
///
/// ```
/// use std::io::copy;
/// use gosched::net::TcpListener;
///
/// gosched::run(|| {
///     let listener = TcpListener::bind("127.0.0.1:0")?;
///     gosched::go(move || {
///         for stream in listener.incoming().flatten() {
///             gosched::go(move || copy(&mut &stream, &mut &stream)); // an echo
///         }
///     });
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
pub type TcpListener = Pollable<net::TcpListener>;

impl Pollable<net::TcpStream> {
    /// Connects to the first of the addresses that accepts. A name is resolved in
    /// [`blocking`](crate::blocking); connecting blocks no thread. Go's `net.Dial`.
    ///
    /// If there is no listener at a port of this machine, the kernel may choose that port for this
    /// end, and then the socket connects to itself. As in Go, the connect is tried again then, with
    /// another port, up to twice.
    ///
    /// ```
    /// use std::io::ErrorKind;
    /// use gosched::net::{TcpListener, TcpStream};
    ///
    /// gosched::run(|| {
    ///     let addr = TcpListener::bind("127.0.0.1:0")?.local_addr()?; // nobody listens there any more
    ///     assert_eq!(TcpStream::connect(addr).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// That of the last address, or of resolving the name;
    /// [`InvalidInput`](ErrorKind::InvalidInput) if there is no address.
    ///
    /// # Panics
    /// Inside [`blocking`](crate::blocking), or before the first [`run`](crate::run), where it
    /// can't wait.
    #[track_caller]
    pub fn connect(addrs: impl ToSocketAddrs) -> io::Result<Self> {
        // Not in a closure, so that a panic has the place of the program's call.
        let mut result = no_address();
        for addr in addresses(addrs)? {
            result = connect(&addr, None);
            if result.is_ok() {
                break;
            }
        }
        result
    }

    /// Connects to `addr` within `timeout`. Go's `net.DialTimeout`.
    /// [`begin_connect`](Self::begin_connect) is for a connect that another goroutine can end.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::net::{TcpListener, TcpStream};
    ///
    /// gosched::run(|| {
    ///     let listener = TcpListener::bind("127.0.0.1:0")?;
    ///     let addr = listener.local_addr()?;
    ///     let stream = TcpStream::connect_timeout(&addr, Duration::from_secs(60))?;
    ///     assert_eq!(stream.peer_addr()?, addr);
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// [`TimedOut`](ErrorKind::TimedOut) if it takes longer,
    /// [`InvalidInput`](ErrorKind::InvalidInput) if `timeout` is 0; otherwise the kernel's.
    ///
    /// # Panics
    /// As [`connect`](Self::connect).
    #[track_caller]
    pub fn connect_timeout(addr: &SocketAddr, timeout: Duration) -> io::Result<Self> {
        not_zero(timeout)?;
        connect(addr, Instant::now().checked_add(timeout))
    }

    /// Begins to connect to `addr` without a wait; [`finish_connect`](Self::finish_connect) waits.
    /// So [`close`](Self::close) can end a connect, like any wait. In Go, the context of a
    /// `Dialer.DialContext` ends it.
    ///
    /// ```
    /// use std::io;
    /// use std::net::SocketAddr;
    ///
    /// use gosched::chan::{Receiver, bounded};
    /// use gosched::net::TcpStream;
    /// use gosched::{scope, select};
    ///
    /// /// Connects, unless `stop` is closed before.
    /// fn connect_unless(stop: &Receiver<()>, addr: &SocketAddr) -> io::Result<TcpStream> {
    ///     let stream = TcpStream::begin_connect(addr)?;
    ///     let (done, is_done) = bounded::<()>(0);
    ///     scope(|s| {
    ///         s.go(|| {
    ///             select! {
    ///                 recv(stop) -> _ => stream.close(),
    ///                 recv(is_done) -> _ => {}
    ///             }
    ///         });
    ///         let result = stream.finish_connect();
    ///         drop(done);
    ///         result
    ///     })?;
    ///     Ok(stream)
    /// }
    /// ```
    ///
    /// # Errors
    /// The kernel's, if the connect fails at once.
    pub fn begin_connect(addr: &SocketAddr) -> io::Result<Self> {
        begin_connect(addr)
    }

    /// Waits until a connect that was [begun](Self::begin_connect) has succeeded, or failed. If it
    /// has succeeded already, it returns at once. A [write deadline](Self::set_write_deadline), or
    /// a timeout, limits the wait.
    ///
    /// ```
    /// use gosched::net::{TcpListener, TcpStream};
    ///
    /// gosched::run(|| {
    ///     let listener = TcpListener::bind("127.0.0.1:0")?;
    ///     let stream = TcpStream::begin_connect(&listener.local_addr()?)?;
    ///     println!("meanwhile");
    ///     stream.finish_connect()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The kernel's, or [`NotConnected`](ErrorKind::NotConnected) if that error has been returned
    /// before; [`TimedOut`](ErrorKind::TimedOut) after the deadline,
    /// [`BrokenPipe`](ErrorKind::BrokenPipe) after [`close`](Self::close).
    ///
    /// # Panics
    /// As [`connect`](Self::connect).
    #[track_caller]
    pub fn finish_connect(&self) -> io::Result<()> {
        self.finish_connect_limited(Limit::default())
    }

    /// [`finish_connect`](Self::finish_connect) with a limit.
    #[track_caller]
    pub(crate) fn finish_connect_limited(&self, limit: Limit<'_>) -> io::Result<()> {
        self.io_limited(Mode::Write, "a connect", limit, is_connected)
    }

    /// Reads as [`Read::read`](io::Read::read) does, but leaves the bytes to be read again.
    ///
    /// ```
    /// use std::io::{Read, Write};
    /// use gosched::net::{TcpListener, TcpStream};
    ///
    /// gosched::run(|| {
    ///     let listener = TcpListener::bind("127.0.0.1:0")?;
    ///     let mut client = TcpStream::connect(listener.local_addr()?)?;
    ///     let (mut server, _) = listener.accept()?;
    ///     client.write_all(b"GET /")?;
    ///     let (mut first, mut all) = ([0], [0; 5]);
    ///     server.peek(&mut first)?;
    ///     server.read_exact(&mut all)?;
    ///     assert_eq!((&first, &all), (b"G", b"GET /"));
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`read_with`](Self::read_with).
    ///
    /// # Panics
    /// As [`readable`](Self::readable).
    #[track_caller]
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return self.registration.read_nothing();
        }
        self.read_with(|stream| stream.peek(buf))
    }
}

/// Sets the backlog, the number of connections that may wait to be accepted, to the system's limit
/// (`net.core.somaxconn`). Go's `maxListenerBacklog`, in `sock_linux.go`.
///
/// std's backlog is 128. If a burst has more connections, the kernel retries the others only after
/// a second or more.
fn with_max_backlog(listener: net::TcpListener) -> io::Result<net::TcpListener> {
    // A second call changes the backlog of a listening socket; the kernel lowers it to its limit.
    // SAFETY: no memory is passed.
    match unsafe { libc::listen(listener.as_raw_fd(), c_int::MAX) } {
        0 => Ok(listener),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Pollable<net::TcpListener> {
    /// Listens at the first of the addresses that can be bound, as [`std::net::TcpListener::bind`]
    /// does. With port 0 the kernel chooses one: see [`local_addr`](Self::local_addr). As many
    /// connections as the system allows (`net.core.somaxconn`) may wait to be accepted; with std it
    /// is 128. Go's `net.Listen`.
    ///
    /// ```
    /// use gosched::net::TcpListener;
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// println!("at port {}", listener.local_addr().unwrap().port());
    /// ```
    ///
    /// # Errors
    /// That of the last address, or of resolving the name;
    /// [`InvalidInput`](ErrorKind::InvalidInput) if there is no address.
    pub fn bind(addrs: impl ToSocketAddrs) -> io::Result<Self> {
        let listener = each_addr(addrs, |addr| net::TcpListener::bind(addr))?;
        Self::with_drain(with_max_backlog(listener)?, true)
    }

    /// Waits for a connection, and returns it with the address of the other end. Connections that
    /// were aborted before are skipped. Go's `Accept`.
    ///
    /// ```
    /// use gosched::net::{TcpListener, TcpStream};
    ///
    /// gosched::run(|| {
    ///     let listener = TcpListener::bind("127.0.0.1:0")?;
    ///     let client = TcpStream::connect(listener.local_addr()?)?;
    ///     let (_server, addr) = listener.accept()?;
    ///     assert_eq!(addr, client.local_addr()?);
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`read_with`](Self::read_with). If the process can't have another descriptor, the
    /// connection stays in the queue, to be accepted later.
    ///
    /// # Panics
    /// As [`readable`](Self::readable).
    #[track_caller]
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.accept_limited(Limit::default())
    }

    /// [`accept`](Self::accept) with a limit.
    #[track_caller]
    pub(crate) fn accept_limited(&self, limit: Limit<'_>) -> io::Result<(TcpStream, SocketAddr)> {
        let accept = |listener: &net::TcpListener| match listener.accept() {
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => Err(ErrorKind::Interrupted.into()),
            result => result,
        };
        let (stream, addr) = self.io_limited(Mode::Read, "an accept", limit, accept)?;
        Ok((TcpStream::with_drain(stream, self.short_read_drains())?, addr))
    }

    /// An iterator of connections: [`accept`](Self::accept) without the address. It ends when the
    /// listener is [closed](Self::close).
    ///
    /// ```
    /// use gosched::net::{TcpListener, TcpStream};
    ///
    /// gosched::run(|| {
    ///     let listener = TcpListener::bind("127.0.0.1:0")?;
    ///     let client = TcpStream::connect(listener.local_addr()?)?;
    ///     for stream in listener.incoming().take(1) {
    ///         assert_eq!(stream?.peer_addr()?, client.local_addr()?);
    ///     }
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming { listener: self }
    }
}

/// The connections that a [`TcpListener`] accepts.
///
/// ```
/// use std::sync::Arc;
/// use gosched::net::TcpListener;
///
/// gosched::run(|| {
///     let listener = Arc::new(TcpListener::bind("127.0.0.1:0")?);
///     let accepts = listener.clone();
///     let server = gosched::go(move || accepts.incoming().count());
///     listener.close(); // ends the iterator
///     assert_eq!(server.join().unwrap(), 0);
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
#[must_use = "an iterator accepts nothing until it is asked for a connection"]
#[derive(Debug)]
pub struct Incoming<'a> {
    listener: &'a TcpListener,
}

impl Iterator for Incoming<'_> {
    type Item = io::Result<TcpStream>;

    #[track_caller]
    fn next(&mut self) -> Option<Self::Item> {
        self.listener.unless_closed(self.listener.accept())
    }
}

impl FusedIterator for Incoming<'_> {}

/// Connects to `addr`; waits until `deadline` at the latest. Go's `netFD.connect`, in
/// `net/fd_unix.go`.
#[track_caller]
fn connect(addr: &SocketAddr, deadline: Option<Instant>) -> io::Result<Pollable<net::TcpStream>> {
    let stream = begin_connect(addr)?;
    if deadline.is_some() {
        stream.set_write_deadline(deadline);
    }
    stream.finish_connect()?;
    if deadline.is_some() {
        stream.set_write_deadline(None);
    }
    Ok(stream)
}

/// Begins to connect to `addr`, without a wait. Go's `doDialTCPProto`, in `net/tcpsock_posix.go`.
fn begin_connect(addr: &SocketAddr) -> io::Result<Pollable<net::TcpStream>> {
    let mut begun = begin_connect_once(addr);
    // The kernel chooses the port of this end, and may choose an unusable one. As Go does, this
    // tries twice more.
    for _ in 0..2 {
        if !self_connect(&begun, addr) && !spurious_enotavail(&begun) {
            break;
        }
        // The last socket stays open until there is a new one, so that the new one gets another
        // port.
        begun = begin_connect_once(addr);
    }
    Pollable::with_drain(begun?, true)
}

/// Whether a socket has connected to itself. With TCP two ends may connect to each other without a
/// listener, and a socket whose own port is that of `addr` is its own other end. A program that
/// waits for a server to listen would take such a connection for the server. Go's `selfConnect`.
fn self_connect(begun: &io::Result<net::TcpStream>, addr: &SocketAddr) -> bool {
    let Ok(Ok(local)) = begun.as_ref().map(net::TcpStream::local_addr) else { return false };
    let (here, there) = (local.ip().to_canonical(), addr.ip().to_canonical());
    // To the kernel an unspecified address is this machine.
    local.port() == addr.port() && (here == there || there.is_unspecified())
}

/// Whether the kernel has chosen a port that is in use. Go's `spuriousENOTAVAIL`.
fn spurious_enotavail(begun: &io::Result<net::TcpStream>) -> bool {
    begun.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EADDRNOTAVAIL))
}

/// Makes a socket, and begins to connect it to `addr`.
fn begin_connect_once(addr: &SocketAddr) -> io::Result<net::TcpStream> {
    let socket = socket(addr)?;
    let (address, len) = sockaddr(addr);
    // SAFETY: the kernel reads `len` bytes of the address, which has as many or more.
    if unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), len) } < 0 {
        let error = io::Error::last_os_error();
        // EINTR too: the kernel goes on connecting after a signal.
        if !matches!(error.raw_os_error(), Some(libc::EINPROGRESS | libc::EINTR)) {
            return Err(error);
        }
    }
    Ok(net::TcpStream::from(socket))
}

/// Returns Ok if the stream is connected, `WouldBlock` if the kernel still tries, and otherwise the
/// error of the connect.
fn is_connected(stream: &net::TcpStream) -> io::Result<()> {
    // Checked first: if the kernel no longer tries, and the stream isn't connected, the connect has
    // failed, and its error may have been returned before.
    is_ready(stream.as_fd(), Mode::Write)?;
    match stream.take_error()? {
        Some(error) => Err(error),
        None => stream.peer_addr().map(drop),
    }
}

/// A new socket for TCP, in non-blocking mode.
fn socket(addr: &SocketAddr) -> io::Result<OwnedFd> {
    let family = if addr.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let ty = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no memory is passed.
    let fd = unsafe { libc::socket(family, ty, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The address as the kernel takes it, and how many bytes of it count.
fn sockaddr(addr: &SocketAddr) -> (libc::sockaddr_in6, libc::socklen_t) {
    // SAFETY: a sockaddr_in6 consists of integers, for which all zero is a value.
    let mut address: libc::sockaddr_in6 = unsafe { zeroed() };
    match addr {
        SocketAddr::V4(addr) => {
            let v4 = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: addr.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(addr.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: a sockaddr_in6 is larger than a sockaddr_in, and has the same alignment.
            unsafe { (&raw mut address).cast::<libc::sockaddr_in>().write(v4) };
            (address, size_of::<libc::sockaddr_in>() as libc::socklen_t)
        }
        SocketAddr::V6(addr) => {
            address.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            address.sin6_port = addr.port().to_be();
            address.sin6_flowinfo = addr.flowinfo();
            address.sin6_addr.s6_addr = addr.ip().octets();
            address.sin6_scope_id = addr.scope_id();
            (address, size_of::<libc::sockaddr_in6>() as libc::socklen_t)
        }
    }
}
