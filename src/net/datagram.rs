//! Sockets of datagrams: [`UdpSocket`], and the functions that it and
//! [`UnixDatagram`](crate::net::UnixDatagram) have in common.

use std::io;
use std::net::{self, SocketAddr, ToSocketAddrs};
use std::os::unix::net as unix;

use crate::net::Pollable;
use crate::net::resolve::{each_addr, first_addr};

/// A UDP socket: [`std::net::UdpSocket`], on which only goroutines wait. Go's `net.UDPConn`.
///
/// ```
/// use gosched::net::UdpSocket;
///
/// gosched::run(|| {
///     let (a, b) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
///     a.send_to(b"hello", b.local_addr()?)?;
///     let mut buf = [0; 16];
///     assert_eq!(b.recv_from(&mut buf)?, (5, a.local_addr()?));
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
pub type UdpSocket = Pollable<net::UdpSocket>;

/// Each function that waits has the errors of [`read_with`](Pollable::read_with), and panics where
/// [`readable`](Pollable::readable) does.
impl Pollable<net::UdpSocket> {
    /// A socket that is bound to the first of the addresses that can be bound. Go's
    /// `net.ListenPacket`.
    ///
    /// ```
    /// use gosched::net::UdpSocket;
    ///
    /// let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    /// println!("at port {}", socket.local_addr().unwrap().port());
    /// ```
    ///
    /// # Errors
    /// That of the last address, or of resolving the name;
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if there is no address.
    pub fn bind(addrs: impl ToSocketAddrs) -> io::Result<Self> {
        Self::new(each_addr(addrs, |addr| net::UdpSocket::bind(addr))?)
    }

    /// Sets the address that [`send`](Self::send) sends to and [`recv`](Self::recv) receives from:
    /// the first one that the kernel accepts.
    ///
    /// ```
    /// use gosched::net::UdpSocket;
    ///
    /// gosched::run(|| {
    ///     let (a, b) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    ///     a.connect(b.local_addr()?)?;
    ///     assert_eq!(a.send(b"hello")?, 5);
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn connect(&self, addrs: impl ToSocketAddrs) -> io::Result<()> {
        each_addr(addrs, |addr| self.get_ref().connect(addr))
    }

    /// Sends a datagram to the first of the addresses; returns its length.
    ///
    /// # Errors
    /// As [`write_with`](Self::write_with), or of resolving the name.
    #[track_caller]
    pub fn send_to(&self, buf: &[u8], addrs: impl ToSocketAddrs) -> io::Result<usize> {
        let addr = first_addr(addrs)?;
        self.write_with(|socket| socket.send_to(buf, addr))
    }

    /// [`recv_from`](Self::recv_from), but leaves the datagram to be received again.
    ///
    /// ```
    /// use gosched::net::UdpSocket;
    ///
    /// gosched::run(|| {
    ///     let (a, b) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    ///     a.send_to(b"hello", b.local_addr()?)?;
    ///     let mut buf = [0; 16];
    ///     assert_eq!(b.peek_from(&mut buf)?, b.recv_from(&mut buf)?);
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`read_with`](Self::read_with).
    #[track_caller]
    pub fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.read_with(|socket| socket.peek_from(buf))
    }

    /// [`recv`](Self::recv), but leaves the datagram to be received again.
    ///
    /// # Errors
    /// As [`read_with`](Self::read_with).
    #[track_caller]
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.read_with(|socket| socket.peek(buf))
    }
}

macro_rules! datagrams {
    ($($inner:ty, $addr:ty;)*) => {
        $(
            /// Each has the errors of [`read_with`](Pollable::read_with), and panics where
            /// [`readable`](Pollable::readable) does.
            impl Pollable<$inner> {
                /// Receives a datagram; bytes that don't fit into `buf` are lost. Returns how many
                /// bytes there are now, and the sender's address.
                ///
                /// # Errors
                /// As [`read_with`](Self::read_with).
                #[track_caller]
                pub fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, $addr)> {
                    self.read_with(|socket| socket.recv_from(buf))
                }

                /// Sends a datagram to the address that the socket is connected to; returns its
                /// length.
                ///
                /// # Errors
                /// As [`write_with`](Self::write_with).
                #[track_caller]
                pub fn send(&self, buf: &[u8]) -> io::Result<usize> {
                    self.write_with(|socket| socket.send(buf))
                }

                /// Receives a datagram from that address; bytes that don't fit into `buf` are lost.
                /// Returns how many bytes there are now.
                ///
                /// # Errors
                /// As [`read_with`](Self::read_with).
                #[track_caller]
                pub fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
                    self.read_with(|socket| socket.recv(buf))
                }
            }
        )*
    };
}

datagrams! {
    net::UdpSocket, net::SocketAddr;
    unix::UnixDatagram, unix::SocketAddr;
}
