//! Connects without blocking a thread, which std can't do.

use std::io;
use std::mem::zeroed;
use std::net::{self, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Instant;

use crate::net::Pollable;
use crate::net::registration::is_ready;
use crate::runtime::Mode;

/// Connects to `addr`; waits until `deadline` at the latest. Go's `netFD.connect`, in
/// `net/fd_unix.go`.
#[track_caller]
pub(super) fn connect(addr: &SocketAddr, deadline: Option<Instant>) -> io::Result<Pollable<net::TcpStream>> {
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
pub(super) fn begin_connect(addr: &SocketAddr) -> io::Result<Pollable<net::TcpStream>> {
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
pub(super) fn is_connected(stream: &net::TcpStream) -> io::Result<()> {
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
