//! A client with a pool of connections: hyper-util's, on goroutines.

use std::fmt;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::{TcpStream, ToSocketAddrs};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use gosched::{JoinFuture, blocking, go, net};
use http_body::Body;
use hyper::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::client::legacy::{self, Builder};
use tower_service::Service;

use crate::{GoschedExecutor, GoschedIo, GoschedTimer, Socket};

/// hyper-util's client with connections of gosched's.
pub type Client<B> = legacy::Client<Connector, B>;

/// Makes a client of HTTP/1 without TLS. Its clones share a pool of connections, each with a
/// goroutine.
///
/// ```
/// use std::io::{BufRead, BufReader, Write};
///
/// use gosched::net::TcpListener;
/// use gosched::{block_on, go};
/// use gosched_hyper::client::client;
/// use http_body_util::{BodyExt, Empty};
/// use hyper::body::Bytes;
///
/// gosched::run(|| {
///     let listener = TcpListener::bind("127.0.0.1:0")?;
///     let uri = format!("http://{}/", listener.local_addr()?).parse()?;
///     go(move || {
///         let (mut stream, _) = listener.accept()?;
///         BufReader::new(&stream).lines().find(|line| line.as_ref().is_ok_and(String::is_empty));
///         stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
///     });
///
///     let client = client::<Empty<Bytes>>();
///     let answer = block_on(client.get(uri))?;
///     assert_eq!(block_on(answer.into_body().collect())?.to_bytes(), "hello");
///     Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// })
/// .unwrap();
/// ```
///
/// For HTTP/2 or other settings, [`builder`]. For TLS, give the builder a connector around
/// [`Connector`], such as hyper-rustls's `HttpsConnectorBuilder::wrap_connector`.
pub fn client<B>() -> Client<B>
where
    B: Body<Data: Send> + Send,
{
    builder().build(Connector::new())
}

/// hyper-util's settings of a client, with an executor and timers of gosched's.
///
/// ```
/// use gosched_hyper::client::{Client, Connector, builder};
/// use http_body_util::Empty;
/// use hyper::body::Bytes;
///
/// let _client: Client<Empty<Bytes>> = builder().http2_only(true).build(Connector::new());
/// ```
pub fn builder() -> Builder {
    let mut builder = legacy::Client::builder(GoschedExecutor::new());
    builder.pool_timer(GoschedTimer::new()).timer(GoschedTimer::new());
    builder
}

/// Connects a client, without TLS, to the host and port of a URI; the port is 80 if there is none.
/// It is a service of tower's. A goroutine connects, so that the client can use another connection
/// that becomes free meanwhile.
#[derive(Clone, Debug, Default)]
pub struct Connector {
    timeout: Option<Duration>,
    any_scheme: bool,
}

impl Connector {
    /// Makes a connector without a time limit.
    pub fn new() -> Self {
        Connector::default()
    }

    /// Sets how long the attempt to connect to one address may take. `None` is the system's limit.
    pub fn connect_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeout = timeout.into();
        self
    }

    /// Sets whether a URI may have another scheme than `http`. A connector for TLS around this one
    /// needs it.
    pub fn any_scheme(mut self, any: bool) -> Self {
        self.any_scheme = any;
        self
    }

    /// Connects to the host of a URI, on a goroutine.
    fn connect(&self, uri: &Uri) -> io::Result<GoschedIo<TcpStream>> {
        let invalid = |why: &str| io::Error::new(ErrorKind::InvalidInput, format!("{uri}: {why}"));
        if !self.any_scheme && uri.scheme_str() != Some("http") {
            return Err(invalid("the scheme isn't http"));
        }
        let host = uri.host().ok_or_else(|| invalid("no host"))?;
        // The brackets of an IPv6 address belong to the URI.
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
        let stream = match self.timeout {
            None => net::TcpStream::connect((host, port))?,
            Some(timeout) => connect_timeout(host, port, timeout)?,
        };
        stream.set_nodelay(true)?;
        Ok(GoschedIo::new(stream))
    }
}

/// Tries each address in turn.
fn connect_timeout(host: &str, port: u16, timeout: Duration) -> io::Result<net::TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, format!("{host} has no address"));
    for addr in blocking(|| (host, port).to_socket_addrs())? {
        match net::TcpStream::connect_timeout(&addr, timeout) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Service<Uri> for Connector {
    type Response = GoschedIo<TcpStream>;
    type Error = io::Error;
    type Future = Connecting;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Connecting {
        let this = self.clone();
        Connecting(go(move || this.connect(&uri)).into_future())
    }
}

/// The future of a [`Connector`].
#[must_use = "futures do nothing unless polled"]
pub struct Connecting(JoinFuture<io::Result<GoschedIo<TcpStream>>>);

impl Future for Connecting {
    type Output = io::Result<GoschedIo<TcpStream>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let joined = Pin::new(&mut self.0).poll(context);
        joined.map(|result| result.unwrap_or_else(|panicked| panicked.resume_panic()))
    }
}

impl fmt::Debug for Connecting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Connecting { .. }")
    }
}

impl<T: Socket> Connection for GoschedIo<T> {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}
