//! Resolving names of hosts.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};

use crate::goroutine::blocking;

/// Calls `f` with each address that `addrs` resolves to, until it succeeds; returns its last result. std's
/// resolver blocks the thread, so it is called in [`blocking`].
pub(super) fn each_addr<R>(
    addrs: impl ToSocketAddrs,
    mut f: impl FnMut(&SocketAddr) -> io::Result<R>,
) -> io::Result<R> {
    let mut result = Err(io::Error::new(ErrorKind::InvalidInput, "could not resolve to any addresses"));
    for addr in blocking(|| addrs.to_socket_addrs())? {
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
