//! Non-waiting functions of std's types, under the same names.

use std::io;
use std::net::{self, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr};
use std::os::unix::net as unix;

use crate::net::Pollable;

macro_rules! options {
    ($($inner:ty, $path:literal {
        $($name:ident($($arg:ident: $ty:ty),*) -> $result:ty;)*
    })*) => {
        $(
            impl Pollable<$inner> {
                $(
                    #[doc = concat!("[`", $path, "::", stringify!($name), "`].")]
                    ///
                    /// # Errors
                    /// The kernel's.
                    pub fn $name(&self, $($arg: $ty),*) -> io::Result<$result> {
                        self.get_ref().$name($($arg),*)
                    }
                )*
            }
        )*
    };
}

options! {
    net::TcpStream, "std::net::TcpStream" {
        peer_addr() -> SocketAddr;
        local_addr() -> SocketAddr;
        shutdown(how: Shutdown) -> ();
        set_nodelay(nodelay: bool) -> ();
        nodelay() -> bool;
        set_ttl(ttl: u32) -> ();
        ttl() -> u32;
        take_error() -> Option<io::Error>;
    }
    net::TcpListener, "std::net::TcpListener" {
        local_addr() -> SocketAddr;
        set_ttl(ttl: u32) -> ();
        ttl() -> u32;
        take_error() -> Option<io::Error>;
    }
    net::UdpSocket, "std::net::UdpSocket" {
        peer_addr() -> SocketAddr;
        local_addr() -> SocketAddr;
        set_broadcast(broadcast: bool) -> ();
        broadcast() -> bool;
        set_multicast_loop_v4(multicast_loop_v4: bool) -> ();
        multicast_loop_v4() -> bool;
        set_multicast_ttl_v4(multicast_ttl_v4: u32) -> ();
        multicast_ttl_v4() -> u32;
        set_multicast_loop_v6(multicast_loop_v6: bool) -> ();
        multicast_loop_v6() -> bool;
        set_ttl(ttl: u32) -> ();
        ttl() -> u32;
        join_multicast_v4(multiaddr: &Ipv4Addr, interface: &Ipv4Addr) -> ();
        join_multicast_v6(multiaddr: &Ipv6Addr, interface: u32) -> ();
        leave_multicast_v4(multiaddr: &Ipv4Addr, interface: &Ipv4Addr) -> ();
        leave_multicast_v6(multiaddr: &Ipv6Addr, interface: u32) -> ();
        take_error() -> Option<io::Error>;
    }
    unix::UnixStream, "std::os::unix::net::UnixStream" {
        peer_addr() -> unix::SocketAddr;
        local_addr() -> unix::SocketAddr;
        shutdown(how: Shutdown) -> ();
        take_error() -> Option<io::Error>;
    }
    unix::UnixListener, "std::os::unix::net::UnixListener" {
        local_addr() -> unix::SocketAddr;
        take_error() -> Option<io::Error>;
    }
    unix::UnixDatagram, "std::os::unix::net::UnixDatagram" {
        peer_addr() -> unix::SocketAddr;
        local_addr() -> unix::SocketAddr;
        shutdown(how: Shutdown) -> ();
        take_error() -> Option<io::Error>;
    }
}
