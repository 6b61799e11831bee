//! Sockets, pipes and the like. A goroutine that waits for one holds no thread. Go's `net`.
//!
//! ```
//! use std::io::{Read, Write};
//! use gosched::go;
//! use gosched::net::{TcpListener, TcpStream};
//!
//! gosched::run(|| {
//!     let listener = TcpListener::bind("127.0.0.1:0")?;
//!     let addr = listener.local_addr()?;
//!     go(move || {
//!         for stream in listener.incoming().map_while(Result::ok) {
//!             go(move || std::io::copy(&mut &stream, &mut &stream));
//!         }
//!     });
//!     let mut stream = TcpStream::connect(addr)?;
//!     stream.write_all(b"echo")?;
//!     let mut buf = [0; 4];
//!     stream.read_exact(&mut buf)?;
//!     assert_eq!(&buf, b"echo");
//!     Ok::<(), std::io::Error>(())
//! })
//! .unwrap();
//! ```
//!
//! [`Pollable`] wraps anything with a descriptor that the kernel can poll. [`TcpStream`] and the
//! like are `Pollable`s of std's types of the same names, and have the functions of these types.
//! Call functions that are missing by [`get_ref`](Pollable::get_ref). (Don't call
//! `set_nonblocking(false)` there: operations would then block the thread, and its P.)
//!
//! | to | in Go | here |
//! | --- | --- | --- |
//! | give up at a time | `SetReadDeadline` | [`set_read_deadline`](Pollable::set_read_deadline) |
//! | give up after a time, each time | | [`set_read_timeout`](Pollable::set_read_timeout), as std's |
//! | end another goroutine's wait | `Close` | [`close`](Pollable::close) |
//! | end another goroutine's connect | `DialContext` | [`begin_connect`](TcpStream::begin_connect), and `close` |
//! | wait without a goroutine | | [`go_when_readable`] |
//! | wait for many with few goroutines | | [`ReadyQueue`] |
//! | read and write at once | | `&TcpStream` is [`Read`](std::io::Read) and [`Write`](std::io::Write) |
//!
//! On a thread that isn't a goroutine's an operation blocks that thread while it waits, once the
//! runtime has started. Inside [`blocking`](crate::blocking) an operation that needs no wait works,
//! and others panic.

// | file | what it holds |
// | --- | --- |
// | `tcp.rs` | `TcpListener`, `TcpStream`; connecting without blocking a thread |
// | `unix.rs` | `UnixListener`, `UnixStream`, `UnixDatagram` |
// | `datagram.rs` | `UdpSocket`, and what sockets of datagrams have in common |
// | `options.rs` | what std's types do without waiting |
// | `resolve.rs` | names to addresses, on a thread that may block |
// | `pollable.rs` | `Pollable`: whatever can be polled; the owner of its descriptor, and how it is dropped |
// | `limit.rs` | what ends an operation that waits: a timeout, a cancellation |
// | `later.rs` | `go_when_readable`: waiting without a goroutine |
// | `ready_list.rs` | the list of a ready queue, and the goroutines that wait for its nodes |
// | `ready_queue.rs` | `ReadyQueue`: values that wait for descriptors, for few goroutines |
// | `registration.rs` | a descriptor in the poller: turns, drains, deadlines |

mod datagram;
mod later;
mod limit;
mod options;
mod pollable;
mod ready_list;
mod ready_queue;
mod registration;
mod resolve;
mod tcp;
mod unix;

pub use datagram::UdpSocket;
pub use later::{Readable, go_when_readable};
pub(crate) use limit::Limit;
pub use pollable::Pollable;
pub(crate) use pollable::room;
pub use ready_queue::ReadyQueue;
pub(crate) use registration::{is_ready, set_nonblocking};
pub use tcp::{Incoming, TcpListener, TcpStream};
pub use unix::{UnixDatagram, UnixIncoming, UnixListener, UnixStream};

/// Conversions between std's types and `Pollable`s of them, and `try_clone`.
macro_rules! conversions {
    ($($inner:ty, $new:ident;)*) => {
        $(
            impl $crate::net::Pollable<$inner> {
                /// Another handle for the same socket, with no deadlines or timeouts of its own
                /// yet.
                ///
                /// # Errors
                /// As [`new`](Self::new), and if the process can't have another descriptor.
                pub fn try_clone(&self) -> std::io::Result<Self> {
                    Self::with_drain(self.get_ref().try_clone()?, self.short_read_drains())
                }
            }

            impl TryFrom<$inner> for $crate::net::Pollable<$inner> {
                type Error = std::io::Error;

                /// [`Pollable::new`](crate::net::Pollable::new).
                fn try_from(inner: $inner) -> std::io::Result<Self> {
                    Self::$new(inner)
                }
            }

            impl TryFrom<std::os::fd::OwnedFd> for $crate::net::Pollable<$inner> {
                type Error = std::io::Error;

                /// [`Pollable::new`](crate::net::Pollable::new) of std's type, made of the
                /// descriptor.
                fn try_from(fd: std::os::fd::OwnedFd) -> std::io::Result<Self> {
                    Self::$new(fd.into())
                }
            }

            impl From<$crate::net::Pollable<$inner>> for $inner {
                /// [`Pollable::into_inner`](crate::net::Pollable::into_inner). The result stays in
                /// non-blocking mode: `set_nonblocking(false)` makes std's calls wait.
                fn from(ours: $crate::net::Pollable<$inner>) -> Self {
                    ours.into_inner()
                }
            }
        )*
    };
}

conversions! {
    std::net::TcpListener, of_tcp;
    std::net::TcpStream, of_tcp;
    std::net::UdpSocket, new;
    std::os::unix::net::UnixDatagram, new;
    std::os::unix::net::UnixListener, new;
    std::os::unix::net::UnixStream, new;
}
