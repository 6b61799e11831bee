//! Sending and receiving datagrams: the functions that [`UdpSocket`](crate::net::UdpSocket) and
//! [`UnixDatagram`](crate::net::UnixDatagram) have in common.

use std::io;
use std::net;
use std::os::unix::net as unix;

use crate::net::Pollable;

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
