//! Servers and clients over real sockets.

mod client;
mod http1;
mod http2;
mod limits;
mod pollers;
mod requests;
mod shutdown;
mod sockets;

use std::convert::Infallible;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;

use gosched::context::{Canceler, Context};
use gosched::net::{TcpListener, TcpStream};
use gosched::{JoinHandle, go};
use gosched_hyper::server::Server;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::Service;
use hyper::{Request, Response};

type Answer = Result<Response<Full<Bytes>>, Infallible>;

/// A server that runs.
struct Running {
    addr: SocketAddr,
    cancel: Canceler,
    serve: JoinHandle<io::Result<()>>,
}

/// Begins to serve.
fn serve<S, F>(server: Server, service: S) -> Running
where
    S: Service<Request<Incoming>, Response = Response<Full<Bytes>>, Error = Infallible, Future = F>,
    S: Clone + Send + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let (ctx, cancel) = Context::background().with_cancel();
    let serve = go(move || server.shutdown_on(&ctx).serve(listener, service));
    Running { addr, cancel, serve }
}

impl Running {
    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.addr).unwrap()
    }

    /// Ends the server after the requests that have come, and returns its result.
    fn end(self) -> io::Result<()> {
        self.cancel.cancel();
        self.serve.join().unwrap()
    }
}

/// Answers with the request's path.
async fn path(request: Request<Incoming>) -> Answer {
    Ok(Response::new(Full::from(request.uri().path().to_owned())))
}

/// Sends a request without a body.
fn get(stream: &mut TcpStream, path: &str) {
    // In one write: the kernel would hold back a second one until the first is acknowledged.
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
}

/// Reads an answer with a `Content-Length`, and returns its body.
fn answer(stream: &mut TcpStream) -> String {
    let head = head(stream);
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap_or_else(|| panic!("no length: {head}")).parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

/// Reads up to the end of a head.
fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    String::from_utf8(head).unwrap()
}

/// Waits until the other end has closed the connection. Nothing may come before.
fn wait_for_end(stream: &mut TcpStream) {
    match stream.read(&mut [0]) {
        Ok(n) => assert_eq!(n, 0, "something has come"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
}
