//! The handshakes of [`WebSocket`].

use std::net::TcpStream;
use std::sync::Arc;

use gosched::net::{self, Pollable};
use tungstenite::client::IntoClientRequest;
use tungstenite::error::UrlError;
use tungstenite::handshake::client::Response;
use tungstenite::handshake::server::{Callback, NoCallback};
use tungstenite::handshake::{HandshakeError, HandshakeRole};
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Error, Result};

use crate::connection::Connection;
use crate::stream::Stream;
use crate::{Socket, WebSocket};

impl<T: Socket> WebSocket<T> {
    /// Answers a client's handshake.
    ///
    /// # Errors
    /// tungstenite's. [`Io`](Error::Io), also if a [timeout](Pollable::set_read_timeout) or a
    /// deadline of the stream has passed.
    ///
    /// # Panics
    /// If it must wait inside [`gosched::blocking`], or before the first [`gosched::run`].
    #[track_caller]
    pub fn accept(stream: Pollable<T>) -> Result<Self> {
        Self::accept_with(stream, None, NoCallback)
    }

    /// [`accept`](Self::accept) with a configuration, and a function that sees the request and may
    /// change the answer.
    ///
    /// ```
    /// use gosched::go;
    /// use gosched::net::UnixStream;
    /// use gosched_tungstenite::WebSocket;
    /// use gosched_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
    /// use gosched_tungstenite::tungstenite::protocol::WebSocketConfig;
    ///
    /// gosched::run(|| {
    ///     let (here, there) = UnixStream::pair().unwrap();
    ///     let client = go(|| WebSocket::client("ws://localhost/chat", there, None).map(drop));
    ///     let mut path = String::new();
    ///     let look = |request: &Request, answer: Response| {
    ///         path = request.uri().path().to_owned();
    ///         Ok::<_, ErrorResponse>(answer)
    ///     };
    ///     let config = WebSocketConfig::default().max_message_size(Some(1 << 20));
    ///     WebSocket::accept_with(here, Some(config), look).unwrap();
    ///     assert_eq!(path, "/chat");
    ///     client.join().unwrap().unwrap();
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    ///
    /// # Panics
    /// As [`accept`](Self::accept); and if the configuration is invalid.
    #[track_caller]
    pub fn accept_with(
        stream: Pollable<T>,
        config: Option<WebSocketConfig>,
        callback: impl Callback,
    ) -> Result<Self> {
        let stream = Arc::new(stream);
        let socket = tungstenite::accept_hdr_with_config(Stream::new(stream.clone()), callback, config);
        Ok(WebSocket(Arc::new(Connection::new(stream, socket.map_err(failed)?, Role::Server))))
    }

    /// Makes a client's handshake on a connection, for the URL `ws://..` or a request with headers.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    ///
    /// # Panics
    /// As [`accept`](Self::accept); and if the configuration is invalid.
    #[track_caller]
    pub fn client(
        request: impl IntoClientRequest,
        stream: Pollable<T>,
        config: Option<WebSocketConfig>,
    ) -> Result<(Self, Response)> {
        let stream = Arc::new(stream);
        let socket = tungstenite::client::client_with_config(request, Stream::new(stream.clone()), config);
        let (socket, response) = socket.map_err(failed)?;
        Ok((WebSocket(Arc::new(Connection::new(stream, socket, Role::Client))), response))
    }
}

impl WebSocket {
    /// Connects to the host of a URL `ws://..`, without TLS, and makes the handshake.
    ///
    /// # Errors
    /// As [`accept`](Self::accept); and if there is no connection.
    ///
    /// # Panics
    /// As [`accept`](Self::accept).
    #[track_caller]
    pub fn connect(request: impl IntoClientRequest) -> Result<WebSocket<TcpStream>> {
        let request = request.into_client_request()?;
        let uri = request.uri();
        if uri.scheme_str() != Some("ws") {
            return Err(Error::Url(UrlError::UnsupportedUrlScheme));
        }
        let host = uri.host().ok_or(Error::Url(UrlError::NoHostName))?;
        // The brackets of an IPv6 address belong to the URL.
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let stream = net::TcpStream::connect((host, uri.port_u16().unwrap_or(80)))?;
        stream.set_nodelay(true)?;
        Ok(WebSocket::client(request, stream, None)?.0)
    }
}

/// The error of a handshake, which has waited until it was over.
fn failed<R: HandshakeRole>(error: HandshakeError<R>) -> Error {
    match error {
        HandshakeError::Failure(error) => error,
        HandshakeError::Interrupted(_) => std::io::Error::from(std::io::ErrorKind::TimedOut).into(),
    }
}
