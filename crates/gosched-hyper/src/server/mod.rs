//! HTTP servers, whose handlers run on goroutines. Go's `net/http`.
//!
//! [`serve`] needs a listener and a service, and has limits that suit most servers. [`Server`] is
//! its builder.
//!
//! A handler may wait as goroutines do, and it may be `async` and wait for futures. A few
//! goroutines poll all connections: they read requests, run their handlers, and write the answers.
//! While a handler of HTTP/1 waits as goroutines do, it keeps its goroutine, and its connection
//! waits. Another goroutine polls the other connections. In HTTP/2 each request has a goroutine of
//! its own.
//!
//! Requests of several connections run on one goroutine, one after the other. So a handler finds
//! in thread-locals and [`goroutine_local!`](gosched::goroutine_local)s what another request has
//! left there.
//!
//! | to | in Go's `http.Server` | here |
//! | --- | --- | --- |
//! | limit the time of a request's head | `ReadHeaderTimeout` | [`header_timeout`](Server::header_timeout) |
//! | limit the time between two requests | `IdleTimeout` | [`idle_timeout`](Server::idle_timeout) |
//! | limit the time of a write | | [`write_timeout`](Server::write_timeout) |
//! | limit the time of a request | `TimeoutHandler` | [`request_timeout`](Server::request_timeout) |
//! | limit the number of requests at a time | | [`max_requests`](Server::max_requests) |
//! | limit the number of connections | `netutil.LimitListener` | [`max_connections`](Server::max_connections) |
//! | end after the requests that have come | `Shutdown` | [`shutdown_on`](Server::shutdown_on) |
//! | end at once after that | `Close` | [`shutdown_limit`](Server::shutdown_limit) |
//! | end a handler's waits | `Request.Context` | [`Peer::context`] |

mod connection;
mod listener;
mod phase;
mod request;

use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use gosched::context::{Context, ContextError};
use gosched::net::Pollable;
use gosched::sync::{Semaphore, SemaphorePermit, WaitGroup};
use http_body::Body;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::server::conn::{http1, http2};
use hyper::service::Service;
use hyper::upgrade::Upgraded;
use hyper::{Request, Response};
use hyper_util::server::conn::auto;
use rustix::io::Errno;

use crate::drive::block_on;
use crate::pollers::Pollers;
use crate::server::connection::{Ends, Serving};
use crate::server::phase::{Limits, Phases, Watched};
use crate::server::request::{Requests, Rules};
use crate::{BoxError, GoschedExecutor, GoschedIo, GoschedTimer, Socket};

pub use listener::Listener;

/// The limit of a request's head, if none is set.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// The limit of the time between two requests, if none is set.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// The first pause after an error that other connections may have caused. Each pause is twice as
/// long as the one before, up to the last. Those of Go's `Server.Serve`.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Calls a function with the future of a connection of a server, whose type depends on the
/// protocol.
macro_rules! serving {
    ($server:expr, $io:expr, $service:expr, $now:expr, $then:expr) => {{
        let server: &Server = &$server;
        let phases = Phases::new(server.limits, server.ctx.clone());
        let io = Watched { io: $io, phases: phases.clone() };
        let service = Requests { service: $service, phases: phases.clone(), rules: server.rules.clone() };
        let ends = Ends { graceful: server.ctx.clone(), now: $now };
        match &server.protocol {
            Protocol::Auto(builder) => {
                let connection = builder.serve_connection_with_upgrades(io, service).into_owned();
                $then(Serving::new(connection, ends, phases))
            }
            Protocol::Http1(builder) => {
                $then(Serving::new(builder.serve_connection(io, service).with_upgrades(), ends, phases))
            }
            Protocol::Http2(builder) => {
                $then(Serving::new(builder.serve_connection(io, service), ends, phases))
            }
        }
    }};
}

/// Serves HTTP/1 and HTTP/2 on a listener, with the limits of [`Server::new`], until accepting
/// fails. Each connection gets a clone of the service.
///
/// ```
/// use std::io::{Write, read_to_string};
///
/// use gosched::go;
/// use gosched::net::{TcpListener, TcpStream};
/// use gosched_hyper::server::serve;
/// use hyper::body::Incoming;
/// use hyper::service::service_fn;
/// use hyper::{Request, Response};
///
/// async fn hello(request: Request<Incoming>) -> hyper::http::Result<Response<String>> {
///     Response::builder().body(format!("hello {}", request.uri().path()))
/// }
///
/// gosched::run(|| {
///     let listener = TcpListener::bind("127.0.0.1:0")?;
///     let addr = listener.local_addr()?;
///     go(move || serve(listener, service_fn(hello)));
///
///     let mut client = TcpStream::connect(addr)?;
///     client.write_all(b"GET /me HTTP/1.1\r\nConnection: close\r\n\r\n")?;
///     assert!(read_to_string(client)?.ends_with("\r\n\r\nhello /me"));
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
///
/// # Errors
/// Those of an accept that no later one can mend.
///
/// # Panics
/// Inside [`gosched::blocking`], and before the first [`gosched::run`].
pub fn serve<L, S, B>(listener: L, service: S) -> io::Result<()>
where
    L: Listener,
    S: Service<Request<Incoming>, Response = Response<B>, Future: Send + 'static, Error: Into<BoxError>>,
    S: Clone + Send + 'static,
    B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
{
    Server::new().serve(listener, service)
}

/// A server of HTTP, as it is to be. Go's `http.Server`.
///
/// A server that stops when it is told to, after the requests that have come:
///
/// ```
/// use std::convert::Infallible;
/// use std::time::Duration;
///
/// use gosched::context::Context;
/// use gosched::go;
/// use gosched::net::TcpListener;
/// use gosched_hyper::server::Server;
/// use hyper::service::service_fn;
/// use hyper::{Request, Response, body::Incoming};
///
/// async fn hello(_: Request<Incoming>) -> Result<Response<String>, Infallible> {
///     Ok(Response::new("hello".to_owned()))
/// }
///
/// gosched::run(|| {
///     let (ctx, cancel) = Context::background().with_cancel();
///     let listener = TcpListener::bind("127.0.0.1:0")?;
///     let server = go(move || {
///         Server::new()
///             .max_connections(10_000)
///             .header_timeout(Duration::from_secs(5))
///             .shutdown_on(&ctx)
///             .shutdown_limit(Duration::from_secs(10))
///             .serve(listener, service_fn(hello))
///     });
///     cancel.cancel(); // as a rule when a signal has come
///     server.join().unwrap()
/// })
/// .unwrap();
/// ```
#[derive(Clone, Debug)]
#[must_use = "`serve` serves"]
pub struct Server {
    protocol: Protocol,
    limits: Limits,
    rules: Rules,
    write_timeout: Option<Duration>,
    max_connections: usize,
    ctx: Context,
    shutdown_limit: Option<Duration>,
}

/// What a server speaks, and hyper's settings of that.
#[derive(Clone)]
enum Protocol {
    Auto(auto::Builder<GoschedExecutor>),
    Http1(http1::Builder),
    Http2(http2::Builder<GoschedExecutor>),
}

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Protocol::Auto(_) => "Auto",
            Protocol::Http1(_) => "Http1",
            Protocol::Http2(_) => "Http2",
        })
    }
}

impl Default for Server {
    fn default() -> Self {
        Server::new()
    }
}

impl Server {
    /// A server of HTTP/1 and HTTP/2: the first bytes of a connection say which. A request's head
    /// may take 30 s, and the time between two requests two minutes. Nothing else is limited.
    pub fn new() -> Self {
        let mut builder = auto::Builder::new(GoschedExecutor::new());
        // The limit is the server's own, which costs less than hyper's: see `phase`.
        builder.http1().timer(GoschedTimer::new()).header_read_timeout(None);
        // WebSockets over HTTP/2 begin by it, as with axum's own server.
        builder.http2().timer(GoschedTimer::new()).enable_connect_protocol();
        Server::auto(builder)
    }

    /// [`new`](Self::new) with hyper's settings. The builder may still need a
    /// [`timer`](GoschedTimer).
    pub fn auto(builder: auto::Builder<GoschedExecutor>) -> Self {
        Server::with(Protocol::Auto(builder))
    }

    /// [`new`](Self::new) of HTTP/1 alone, with hyper's settings.
    ///
    /// ```
    /// use gosched_hyper::server::Server;
    /// use hyper::server::conn::http1;
    ///
    /// let _server = Server::http1(http1::Builder::new());
    /// ```
    pub fn http1(builder: http1::Builder) -> Self {
        Server::with(Protocol::Http1(builder))
    }

    /// [`new`](Self::new) of HTTP/2 alone, with hyper's settings. Clients have to know that.
    ///
    /// ```
    /// use gosched_hyper::server::Server;
    /// use gosched_hyper::{GoschedExecutor, GoschedTimer};
    /// use hyper::server::conn::http2;
    ///
    /// let mut builder = http2::Builder::new(GoschedExecutor::new());
    /// builder.timer(GoschedTimer::new()).max_concurrent_streams(1_000);
    /// let _server = Server::http2(builder);
    /// ```
    pub fn http2(builder: http2::Builder<GoschedExecutor>) -> Self {
        Server::with(Protocol::Http2(builder))
    }

    fn with(protocol: Protocol) -> Self {
        Server {
            protocol,
            limits: Limits { header: Some(HEADER_TIMEOUT), idle: Some(IDLE_TIMEOUT) },
            rules: Rules::default(),
            write_timeout: None,
            max_connections: usize::MAX,
            ctx: Context::background(),
            shutdown_limit: None,
        }
    }

    /// Sets how long a client may take from the first byte of a request to the end of its head. The
    /// first request of a connection has that time from the accept on, a handshake of TLS included.
    /// The connection of a slower client is closed. `None` is no limit. Go's `ReadHeaderTimeout`.
    pub fn header_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.limits.header = timeout.into();
        self
    }

    /// Sets how long a connection may be without a request. Then it is closed. `None` is no limit.
    /// Go's `IdleTimeout`.
    pub fn idle_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.limits.idle = timeout.into();
        self
    }

    /// Sets how long a connection may wait until its client has made room for more bytes. Then it
    /// is closed. `None`, the default, is no limit. Only the sockets of [`serve`](Self::serve) have
    /// it.
    ///
    /// # Panics
    /// If the timeout is 0.
    pub fn write_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.write_timeout = timeout.into();
        assert_ne!(self.write_timeout, Some(Duration::ZERO), "a timeout can't be 0");
        self
    }

    /// Sets how many connections there may be at a time. While there are as many, none is accepted:
    /// clients wait in the listener's queue. A connection that was upgraded, as to a WebSocket,
    /// doesn't count any more.
    ///
    /// # Panics
    /// If it is 0.
    pub fn max_connections(mut self, max: usize) -> Self {
        assert_ne!(max, 0, "a server without connections");
        self.max_connections = max;
        self
    }

    /// Sets how long a request may take, from the end of its head to the end of its answer's body.
    /// `None`, the default, is no limit. Go's `http.TimeoutHandler`.
    ///
    /// If the handler hasn't answered in time, the client gets the status 503, over HTTP/1 with
    /// `Connection: close`. The handler's waits end as in [`Context::run`]: it unwinds at its next
    /// wait, in a future or as goroutines wait. If only the answer's body comes too late, its
    /// connection is closed; in HTTP/2, its request.
    ///
    /// The handler has [a goroutine of its own](Self::goroutine_per_request), and so has the
    /// request's body, which arrives meanwhile.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use std::io::{Write, read_to_string};
    /// use std::time::Duration;
    ///
    /// use gosched::net::{TcpListener, TcpStream};
    /// use gosched::{go, time};
    /// use gosched_hyper::server::Server;
    /// use hyper::service::service_fn;
    /// use hyper::{Request, Response, body::Incoming};
    ///
    /// async fn slow(_: Request<Incoming>) -> Result<Response<String>, Infallible> {
    ///     time::sleep(Duration::from_secs(3600));
    ///     Ok(Response::new("at last".to_owned()))
    /// }
    ///
    /// gosched::run(|| {
    ///     let listener = TcpListener::bind("127.0.0.1:0")?;
    ///     let addr = listener.local_addr()?;
    ///     let server = Server::new().request_timeout(Duration::from_millis(1));
    ///     go(move || server.serve(listener, service_fn(slow)));
    ///
    ///     let mut client = TcpStream::connect(addr)?;
    ///     client.write_all(b"GET / HTTP/1.1\r\n\r\n")?;
    ///     assert!(read_to_string(client)?.starts_with("HTTP/1.1 503"));
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    pub fn request_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.rules.timeout = timeout.into();
        self
    }

    /// Sets how many requests may be handled at a time, on all connections. The others wait, and
    /// their time counts for the [limit](Self::request_timeout). A request counts until its
    /// handler has ended and its answer's body is sent.
    ///
    /// Each handler has [a goroutine of its own](Self::goroutine_per_request).
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use gosched_hyper::server::Server;
    ///
    /// let _server = Server::new().max_requests(1_000).request_timeout(Duration::from_secs(10));
    /// ```
    ///
    /// # Panics
    /// If it is 0.
    pub fn max_requests(mut self, max: usize) -> Self {
        assert_ne!(max, 0, "a server without requests");
        self.rules.slots = Some(Arc::new(Semaphore::new(max)));
        self
    }

    /// Sets whether each request of HTTP/1 has a goroutine of its own, as each of HTTP/2 has. The
    /// default is false: the goroutine that polls a connection runs the handlers of its requests,
    /// and reads nothing from it while one waits as goroutines do.
    ///
    /// With a goroutine of its own a handler, or a layer of tower's, may also wait for the
    /// request's body as goroutines do, for instance by a `block_on` of the next layer. If the
    /// client goes, the handler's waits end as in [`Context::run`].
    ///
    /// ```
    /// use std::io::{Read, Write, read_to_string};
    ///
    /// use gosched::net::{TcpListener, TcpStream};
    /// use gosched::{block_on, go};
    /// use gosched_hyper::server::Server;
    /// use http_body_util::BodyExt;
    /// use hyper::service::service_fn;
    /// use hyper::{Request, Response, body::Incoming};
    ///
    /// async fn echo(request: Request<Incoming>) -> hyper::Result<Response<String>> {
    ///     let body = block_on(request.into_body().collect())?.to_bytes();
    ///     Ok(Response::new(String::from_utf8_lossy(&body).into_owned()))
    /// }
    ///
    /// gosched::run(|| {
    ///     let listener = TcpListener::bind("127.0.0.1:0")?;
    ///     let addr = listener.local_addr()?;
    ///     let server = Server::new().goroutine_per_request(true);
    ///     go(move || server.serve(listener, service_fn(echo)));
    ///
    ///     let mut client = TcpStream::connect(addr)?;
    ///     client.write_all(b"POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhe")?;
    ///     client.write_all(b"llo")?;
    ///     assert!(read_to_string(client)?.ends_with("hello"));
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    pub fn goroutine_per_request(mut self, own: bool) -> Self {
        self.rules.own_goroutine = own;
        self
    }

    /// Sets the context that ends the server. When it has ended, the server accepts no more
    /// connections and closes the listener. Requests that have come are answered, and then their
    /// connections are closed. Idle ones are closed at once. Go's `Shutdown`.
    pub fn shutdown_on(mut self, ctx: &Context) -> Self {
        self.ctx = ctx.clone();
        self
    }

    /// Sets how long [`serve`](Self::serve) waits for connections when its context has ended. Then
    /// [`Peer::context`] ends, and connections are closed in the middle of a request. A handler
    /// that doesn't wait for that context, nor in a future, goes on to its end. `None`, the
    /// default, is no limit.
    pub fn shutdown_limit(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.shutdown_limit = limit.into();
        self
    }

    /// Serves on a listener until the [context](Self::shutdown_on) has ended and all connections
    /// are closed. Each connection gets a clone of the service. The goroutines that
    /// [poll the connections](self) inherit what others of [`go`](gosched::go) would inherit here.
    ///
    /// A panic of a handler ends its connection; in HTTP/2, its request. Otherwise it has the
    /// effect of any panic on a goroutine that isn't joined ([`gosched::PanicMode`]).
    ///
    /// # Errors
    /// - Those of an accept that no later one can mend. If the process or the system has no
    ///   descriptor or memory left, the server pauses for 5 ms to 1 s and tries again.
    /// - [`TimedOut`](ErrorKind::TimedOut) if connections were left at the
    ///   [limit](Self::shutdown_limit).
    ///
    /// # Panics
    /// Inside [`gosched::blocking`], and before the first [`gosched::run`].
    pub fn serve<L, S, B>(self, listener: L, service: S) -> io::Result<()>
    where
        L: Listener,
        S: Service<Request<Incoming>, Response = Response<B>, Future: Send + 'static, Error: Into<BoxError>>,
        S: Clone + Send + 'static,
        B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
    {
        self.serve_with(listener, |_| service.clone())
    }

    /// [`serve`](Self::serve) that calls `make` for each connection's service.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use std::io::{Write, read_to_string};
    ///
    /// use gosched::go;
    /// use gosched::net::{TcpListener, TcpStream};
    /// use gosched_hyper::server::Server;
    /// use hyper::service::service_fn;
    /// use hyper::{Request, Response, body::Incoming};
    ///
    /// gosched::run(|| {
    ///     let listener = TcpListener::bind("127.0.0.1:0")?;
    ///     let addr = listener.local_addr()?;
    ///     go(move || {
    ///         Server::new().serve_with(listener, |peer| {
    ///             let answer = format!("you are {}", peer.addr());
    ///             service_fn(move |_: Request<Incoming>| {
    ///                 let response = Response::new(answer.clone());
    ///                 async { Ok::<_, Infallible>(response) }
    ///             })
    ///         })
    ///     });
    ///
    ///     let mut client = TcpStream::connect(addr)?;
    ///     client.write_all(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")?;
    ///     let you = format!("you are {}", client.local_addr()?);
    ///     assert!(read_to_string(client)?.ends_with(&you));
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    ///
    /// # Panics
    /// As [`serve`](Self::serve), and if `make` does.
    pub fn serve_with<L, M, S, B>(self, listener: L, mut make: M) -> io::Result<()>
    where
        L: Listener,
        M: FnMut(&Peer<L::Addr>) -> S,
        S: Service<Request<Incoming>, Response = Response<B>, Future: Send + 'static, Error: Into<BoxError>>,
        S: Send + 'static,
        B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
    {
        // Canceled when this returns, or panics.
        let (ctx, _end_all) = self.ctx.without_cancel().with_cancel();
        let connections = Arc::new(WaitGroup::new());
        let slots = Arc::new(Semaphore::new(self.max_connections));
        let (server, pollers) = (self, Pollers::new());
        let accepting = server.accept(&listener, &slots, |stream, addr, slot| {
            let peer = Peer { addr, ctx: ctx.clone() };
            let (io, service) = (GoschedIo::new(stream), make(&peer));
            let kept = (slot, Member::of(&connections));
            // Errors are the client's, which has gone or was too slow.
            serving!(server, io, service, peer.ctx, |serving| pollers.spawn(serving, kept))
        });
        drop(listener);
        accepting?;
        match server.shutdown_limit {
            None => connections.wait(),
            Some(limit) if connections.wait_timeout(limit).timed_out() => {
                return Err(io::Error::new(ErrorKind::TimedOut, "connections were left"));
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Accepts connections until the context has ended.
    fn accept<L: Listener>(
        &self,
        listener: &L,
        slots: &Arc<Semaphore>,
        mut begin: impl FnMut(Pollable<L::Socket>, L::Addr, Slot),
    ) -> io::Result<()> {
        let mut pause = FIRST_PAUSE;
        loop {
            let Ok(permit) = self.ctx.with(&**slots).acquire() else { return Ok(()) };
            let slot = Slot::of(permit, slots);
            match listener.accept(&self.ctx) {
                Ok((stream, addr)) => {
                    pause = FIRST_PAUSE;
                    if self.write_timeout.is_some() {
                        stream.set_write_timeout(self.write_timeout)?;
                    }
                    begin(stream, addr, slot);
                }
                Err(error) if ContextError::of(&error).is_some() => return Ok(()),
                Err(error) if others_are_the_cause(&error) => {
                    if self.ctx.sleep(pause).is_err() {
                        return Ok(());
                    }
                    pause = LONGEST_PAUSE.min(2 * pause);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Serves one connection on this goroutine, for instance one with TLS: `io` may be any socket
    /// of hyper's, and should read from a [`GoschedIo`] in the end. The
    /// [context](Self::shutdown_on) ends it after the requests that have come.
    ///
    /// ```
    /// use std::convert::Infallible;
    ///
    /// use gosched::go;
    /// use gosched::net::UnixStream;
    /// use gosched_hyper::GoschedIo;
    /// use gosched_hyper::server::Server;
    /// use hyper::service::service_fn;
    /// use hyper::{Request, Response, body::Incoming};
    ///
    /// async fn hello(_: Request<Incoming>) -> Result<Response<String>, Infallible> {
    ///     Ok(Response::new("hello".to_owned()))
    /// }
    ///
    /// gosched::run(|| {
    ///     let (ours, theirs) = UnixStream::pair()?;
    ///     let io = GoschedIo::new(ours);
    ///     let server = go(move || Server::new().serve_connection(io, service_fn(hello)));
    ///     drop(theirs);
    ///     server.join().unwrap()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// Those of hyper, and if the client was too slow.
    ///
    /// # Panics
    /// If a handler panics. Inside [`gosched::blocking`], and before the first [`gosched::run`].
    pub fn serve_connection<I, S, B>(&self, io: I, service: S) -> Result<(), BoxError>
    where
        I: Read + Write + Unpin + Send + 'static,
        S: Service<Request<Incoming>, Response = Response<B>, Future: Send + 'static, Error: Into<BoxError>>,
        S: 'static,
        B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
    {
        serving!(self, io, service, Context::background(), block_on)
    }
}

/// Tells a group that a connection has ended.
struct Member(Arc<WaitGroup>);

impl Member {
    fn of(group: &Arc<WaitGroup>) -> Self {
        group.add(1);
        Member(group.clone())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.0.done();
    }
}

/// The client of a connection.
#[derive(Clone, Debug)]
pub struct Peer<A> {
    addr: A,
    ctx: Context,
}

impl<A> Peer<A> {
    /// The client's address.
    pub fn addr(&self) -> &A {
        &self.addr
    }

    /// A context that ends when the server does, that is, when [`Server::serve`] returns. It has
    /// the values of the [server's](Server::shutdown_on). A handler that waits with it can be ended
    /// by the [limit](Server::shutdown_limit) of a shutdown.
    pub fn context(&self) -> &Context {
        &self.ctx
    }
}

/// Takes the socket out of a connection that [`serve`] has upgraded, and the bytes that were read
/// behind the request. `T` is std's type: `TcpStream` or `UnixStream`. gosched-tungstenite makes
/// WebSockets by it.
///
/// # Errors
/// Returns the connection if it hasn't such a socket below: it is of HTTP/2, has TLS, or another
/// server has it.
pub fn downcast<T: Socket>(upgraded: Upgraded) -> Result<(Arc<Pollable<T>>, Vec<u8>), Upgraded> {
    let (io, behind) = match auto::upgrade::downcast::<Watched<GoschedIo<T>>>(upgraded) {
        Ok(parts) => (parts.io, parts.read_buf),
        // Of a server of HTTP/1 alone.
        Err(upgraded) => {
            let parts = upgraded.downcast::<Watched<GoschedIo<T>>>()?;
            (parts.io, parts.read_buf)
        }
    };
    let (stream, ahead) = io.io.into_parts();
    Ok((stream, [&behind[..], &ahead].concat()))
}

/// The place of a connection or of a request, which the next one gets when it is dropped.
struct Slot(Arc<Semaphore>);

impl Slot {
    /// The place of a permit.
    fn of(permit: SemaphorePermit<'_>, slots: &Arc<Semaphore>) -> Self {
        permit.forget();
        Slot(slots.clone())
    }

    /// Waits for a place.
    fn take(slots: Arc<Semaphore>) -> Self {
        slots.acquire().forget();
        Slot(slots)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

/// Whether an accept has failed because the process or the system had too little of something, so
/// that a later one may succeed.
fn others_are_the_cause(error: &io::Error) -> bool {
    let error = Errno::from_io_error(error);
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM].map(Some).contains(&error)
}
