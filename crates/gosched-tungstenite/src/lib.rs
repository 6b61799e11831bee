//! WebSockets on [gosched](https://docs.rs/gosched)'s goroutines, by
//! [tungstenite](https://docs.rs/tungstenite). One goroutine reads while others write: a
//! [`WebSocket`] is used by reference, or [splits](WebSocket::split) into a [`Sender`] and a
//! [`Receiver`].
//!
//! ```
//! use gosched::go;
//! use gosched::net::TcpListener;
//! use gosched_tungstenite::{WebSocket, tungstenite};
//! use tungstenite::Message;
//!
//! gosched::run(|| {
//!     let listener = TcpListener::bind("127.0.0.1:0")?;
//!     let url = format!("ws://{}/", listener.local_addr()?);
//!     let server = go(move || {
//!         let (sender, receiver) = WebSocket::accept(listener.accept()?.0)?.split();
//!         for message in receiver {
//!             match message? {
//!                 message @ (Message::Text(_) | Message::Binary(_)) => sender.send(message)?,
//!                 _ => {} // pings are answered already
//!             }
//!         }
//!         Ok::<(), tungstenite::Error>(())
//!     });
//!
//!     let socket = WebSocket::connect(&url)?;
//!     socket.send("hello".into())?;
//!     assert_eq!(socket.recv()?, Message::text("hello"));
//!     socket.close(None)?;
//!     while socket.recv().is_ok() {} // until the server has closed it, too
//!     server.join().unwrap()
//! })
//! .unwrap();
//! ```
//!
//! The feature `hyper` adds `upgrade`, for handlers of gosched-hyper's servers, such as axum's.
//!
//! # How it works
//!
//! tungstenite's state of the connection is behind a mutex, which no goroutine holds while it waits
//! for the socket. A receiver waits for bytes, and then gives them to tungstenite. A sender gives a
//! message to tungstenite, and then waits until the socket has room.
//!
//! tungstenite answers a ping, and the other end's close, while it reads. So a connection whose
//! messages nobody receives doesn't answer.

// | file | what it holds |
// | --- | --- |
// | `lib.rs` | `WebSocket`, its halves |
// | `connection.rs` | what the halves share: waiting for bytes, and for room |
// | `handshake.rs` | accepting and connecting |
// | `upgrade.rs` | WebSockets of HTTP servers |
// | `stream.rs` | the stream that tungstenite reads and writes |

mod connection;
mod handshake;
mod stream;
#[cfg(feature = "hyper")]
mod upgrade;

pub use stream::Socket;
pub use tungstenite;
#[cfg(feature = "hyper")]
pub use upgrade::upgrade;

use std::fmt;
use std::net::TcpStream;
use std::sync::Arc;

use gosched::context::Context;
use gosched::net::Pollable;
use tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tungstenite::{Error, Message, Result};

use crate::connection::Connection;

/// A WebSocket. Its functions take `&self`: goroutines may read and write at the same time. Several
/// that read, or several that write, take turns.
///
/// The [timeouts](Pollable::set_read_timeout) and deadlines of its [stream](Self::stream) hold for
/// it, too. Dropping it closes the socket without a handshake.
pub struct WebSocket<T: Socket = TcpStream>(Arc<Connection<T>>);

/// The half of a [`WebSocket`] that sends. Its clones are the same half.
pub struct Sender<T: Socket = TcpStream>(Arc<Connection<T>>);

/// The half of a [`WebSocket`] that receives. As an iterator it returns messages until the close
/// handshake is over, or an error as the last item.
pub struct Receiver<T: Socket = TcpStream> {
    connection: Arc<Connection<T>>,
    /// Whether the iterator has returned an error.
    failed: bool,
}

impl<T: Socket> WebSocket<T> {
    /// Wraps a connection whose handshake others have made. `read` are bytes that they have read
    /// behind it.
    ///
    /// ```
    /// use gosched::net::UnixStream;
    /// use gosched_tungstenite::WebSocket;
    /// use gosched_tungstenite::tungstenite::{Message, protocol::Role};
    ///
    /// gosched::run(|| {
    ///     let (here, there) = UnixStream::pair().unwrap();
    ///     let here = WebSocket::from_raw_socket(here, Role::Server, None, Vec::new());
    ///     let there = WebSocket::from_raw_socket(there, Role::Client, None, Vec::new());
    ///     here.send("hello".into()).unwrap();
    ///     assert_eq!(there.recv().unwrap(), Message::text("hello"));
    /// });
    /// ```
    ///
    /// # Panics
    /// If the configuration is invalid, as tungstenite's functions do.
    pub fn from_raw_socket(
        stream: impl Into<Arc<Pollable<T>>>,
        role: Role,
        config: Option<WebSocketConfig>,
        read: Vec<u8>,
    ) -> Self {
        let stream = stream.into();
        let inner = stream::Stream::new(stream.clone());
        let socket = tungstenite::WebSocket::from_partially_read(inner, read, role, config);
        WebSocket(Arc::new(Connection::new(stream, socket, role)))
    }

    /// Splits it into halves for two goroutines. The socket is closed when both are dropped.
    pub fn split(self) -> (Sender<T>, Receiver<T>) {
        (Sender(self.0.clone()), Receiver { connection: self.0, failed: false })
    }

    /// Waits for the next message. A ping was answered when this returns it. A close is answered by
    /// the next call, or by [`close`](Self::close).
    ///
    /// # Errors
    /// - [`ConnectionClosed`](Error::ConnectionClosed) after the close handshake.
    /// - [`Io`](Error::Io) if the socket has failed or a [timeout](Pollable::set_read_timeout) has
    ///   passed. After a timeout the next call goes on where this one has stopped.
    /// - tungstenite's others, among them [`Capacity`](Error::Capacity) if the message is larger
    ///   than [`max_message_size`](WebSocketConfig::max_message_size).
    ///
    /// # Panics
    /// If it must wait inside [`gosched::blocking`], or before the first [`gosched::run`].
    #[track_caller]
    pub fn recv(&self) -> Result<Message> {
        self.0.recv(&Context::background())
    }

    /// [`recv`](Self::recv) that ends with a context.
    ///
    /// ```
    /// use gosched::context::{Context, ContextError};
    /// use gosched::net::UnixStream;
    /// use gosched_tungstenite::WebSocket;
    /// use gosched_tungstenite::tungstenite::{Error, protocol::Role};
    ///
    /// gosched::run(|| {
    ///     let (here, _there) = UnixStream::pair().unwrap();
    ///     let socket = WebSocket::from_raw_socket(here, Role::Server, None, Vec::new());
    ///     let (ctx, cancel) = Context::background().with_cancel();
    ///     gosched::go(move || cancel.cancel());
    ///     let Err(Error::Io(error)) = socket.recv_with(&ctx) else { panic!() };
    ///     assert_eq!(ContextError::of(&error), Some(ContextError::Canceled));
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`recv`](Self::recv); and an [`Io`](Error::Io) of which
    /// [`ContextError::of`](gosched::context::ContextError::of) says that the context has ended.
    /// The next call goes on where this one has stopped.
    ///
    /// # Panics
    /// As [`recv`](Self::recv).
    #[track_caller]
    pub fn recv_with(&self, ctx: &Context) -> Result<Message> {
        self.0.recv(ctx)
    }

    /// Sends a message, and waits until the kernel has it. A [`Message::Close`] is
    /// [`close`](Self::close).
    ///
    /// # Errors
    /// - [`ConnectionClosed`](Error::ConnectionClosed), [`AlreadyClosed`](Error::AlreadyClosed) and
    ///   [`Protocol`](Error::Protocol) after a close.
    /// - [`Io`](Error::Io) if the socket has failed or a [timeout](Pollable::set_write_timeout) has
    ///   passed. After a timeout the message is sent with the next one, or by
    ///   [`flush`](Self::flush).
    ///
    /// # Panics
    /// As [`recv`](Self::recv).
    #[track_caller]
    pub fn send(&self, message: Message) -> Result<()> {
        self.0.send(&Context::background(), message)
    }

    /// [`send`](Self::send) that ends with a context.
    ///
    /// # Errors
    /// As [`send`](Self::send); and as [`recv_with`](Self::recv_with). Then the message is sent
    /// with the next one, or by [`flush`](Self::flush).
    ///
    /// # Panics
    /// As [`recv`](Self::recv).
    #[track_caller]
    pub fn send_with(&self, ctx: &Context, message: Message) -> Result<()> {
        self.0.send(ctx, message)
    }

    /// Waits until the kernel has all messages of sends that were ended.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    ///
    /// # Panics
    /// As [`recv`](Self::recv).
    #[track_caller]
    pub fn flush(&self) -> Result<()> {
        self.0.flush(&Context::background())
    }

    /// Begins the close handshake, if the other end hasn't. It is over when [`recv`](Self::recv)
    /// has returned [`ConnectionClosed`](Error::ConnectionClosed).
    ///
    /// # Errors
    /// As [`send`](Self::send), except that a connection may be closed already.
    ///
    /// # Panics
    /// As [`recv`](Self::recv).
    #[track_caller]
    pub fn close(&self, code: Option<CloseFrame>) -> Result<()> {
        self.0.close(code)
    }

    /// The socket. [`Pollable::close`] ends all waits for it.
    pub fn stream(&self) -> &Pollable<T> {
        self.0.stream()
    }
}

impl<T: Socket> Sender<T> {
    /// [`WebSocket::send`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn send(&self, message: Message) -> Result<()> {
        self.0.send(&Context::background(), message)
    }

    /// [`WebSocket::send_with`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn send_with(&self, ctx: &Context, message: Message) -> Result<()> {
        self.0.send(ctx, message)
    }

    /// [`WebSocket::flush`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn flush(&self) -> Result<()> {
        self.0.flush(&Context::background())
    }

    /// [`WebSocket::close`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn close(&self, code: Option<CloseFrame>) -> Result<()> {
        self.0.close(code)
    }

    /// [`WebSocket::stream`].
    pub fn stream(&self) -> &Pollable<T> {
        self.0.stream()
    }
}

impl<T: Socket> Receiver<T> {
    /// [`WebSocket::recv`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn recv(&self) -> Result<Message> {
        self.connection.recv(&Context::background())
    }

    /// [`WebSocket::recv_with`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn recv_with(&self, ctx: &Context) -> Result<Message> {
        self.connection.recv(ctx)
    }

    /// [`WebSocket::stream`].
    pub fn stream(&self) -> &Pollable<T> {
        self.connection.stream()
    }
}

impl<T: Socket> Iterator for Receiver<T> {
    type Item = Result<Message>;

    #[track_caller]
    fn next(&mut self) -> Option<Result<Message>> {
        if self.failed {
            return None;
        }
        match self.recv() {
            Err(Error::ConnectionClosed | Error::AlreadyClosed) => None,
            result => {
                self.failed = result.is_err();
                Some(result)
            }
        }
    }
}

impl<T: Socket> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Sender(self.0.clone())
    }
}

impl<T: Socket + fmt::Debug> fmt::Debug for WebSocket<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WebSocket").field(self.stream()).finish()
    }
}

impl<T: Socket + fmt::Debug> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sender").field(self.stream()).finish()
    }
}

impl<T: Socket + fmt::Debug> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receiver").field(self.stream()).finish()
    }
}

/// The example of the README is compiled with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
