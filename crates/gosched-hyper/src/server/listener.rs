//! [`Listener`]: what a server accepts its connections from.

use std::fmt::Debug;
use std::io;
use std::os::unix;
use std::{net, net::SocketAddr};

use gosched::context::Context;
use gosched::net::{Pollable, TcpListener, UnixListener};

use crate::Socket;

/// A listener of gosched's: a [`TcpListener`] or a [`UnixListener`]. For others, such as one with
/// TLS, call [`Server::serve_connection`](crate::server::Server::serve_connection) in a loop that
/// accepts.
pub trait Listener: Sealed {}

/// Keeps other crates from implementing [`Listener`].
pub trait Sealed {
    /// The type that owns the socket of a connection.
    type Socket: Socket;
    /// The type of addresses.
    type Addr: Debug + Send + 'static;

    /// Accepts a connection, unless the context ends before.
    fn accept(&self, ctx: &Context) -> io::Result<(Pollable<Self::Socket>, Self::Addr)>;
}

impl<L: Sealed> Listener for L {}

impl Sealed for TcpListener {
    type Socket = net::TcpStream;
    type Addr = SocketAddr;

    fn accept(&self, ctx: &Context) -> io::Result<(Pollable<net::TcpStream>, SocketAddr)> {
        let (stream, addr) = ctx.with(self).accept()?;
        // As in Go. It fails only if the client has gone, which the first read will find.
        let _ = stream.set_nodelay(true);
        Ok((stream, addr))
    }
}

impl Sealed for UnixListener {
    type Socket = unix::net::UnixStream;
    type Addr = unix::net::SocketAddr;

    fn accept(&self, ctx: &Context) -> io::Result<(Pollable<unix::net::UnixStream>, unix::net::SocketAddr)> {
        ctx.with(self).accept()
    }
}
