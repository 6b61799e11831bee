//! Resolving names of hosts.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};

use crate::goroutine::blocking;

/// The addresses that `addrs` resolves to. std's resolver blocks the thread, so it is called in
/// [`blocking`].
pub(super) fn addresses<A: ToSocketAddrs>(addrs: A) -> io::Result<A::Iter> {
    blocking(|| addrs.to_socket_addrs())
}

/// The result if there is no address to try.
pub(super) fn no_address<R>() -> io::Result<R> {
    Err(io::Error::new(ErrorKind::InvalidInput, "could not resolve to any addresses"))
}

/// Calls `f`, which doesn't wait, with each address that `addrs` resolves to, until it succeeds;
/// returns its last result.
pub(super) fn each_addr<R>(
    addrs: impl ToSocketAddrs,
    mut f: impl FnMut(&SocketAddr) -> io::Result<R>,
) -> io::Result<R> {
    let mut result = no_address();
    for addr in addresses(addrs)? {
        result = f(&addr);
        if result.is_ok() {
            break;
        }
    }
    result
}

/// The first address that `addrs` resolves to.
pub(super) fn first_addr(addrs: impl ToSocketAddrs) -> io::Result<SocketAddr> {
    each_addr(addrs, |addr| Ok(*addr))
}
