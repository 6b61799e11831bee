//! A server made with hyper: a goroutine for each connection, which also runs the handler.

use std::convert::Infallible;
use std::io::{self, Read as _, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use gosched::net::TcpStream;
use gosched::time::sleep;
use gosched::{block_on, blocking};
use gosched_benches::Args;
use gosched_benches::http::{HELLO, HYPER, clients};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};

use crate::echo::serve;

pub fn run(args: &Args) {
    for (workload, connections, wait) in HYPER {
        if args.names(workload) {
            let server = serve(move |stream| converse(stream, wait));
            blocking(|| clients(args, workload, server, connections));
        }
    }
}

fn converse(stream: TcpStream, wait: Duration) {
    stream.set_nodelay(true).unwrap();
    let hello = service_fn(|_: Request<Incoming>| async {
        if !wait.is_zero() {
            sleep(wait);
        }
        let response = Response::builder().header("content-type", "text/plain");
        Ok::<_, Infallible>(response.body(Full::new(Bytes::from_static(HELLO))).unwrap())
    });
    let socket = Socket { stream, read: vec![0; CHUNK].into() };
    // By `half_close`, hyper doesn't read while the handler has yet to answer.
    let connection = http1::Builder::new().half_close(true).serve_connection(socket, hello);
    // Errors come from the clients, which close their connections in the end.
    let _ = block_on(connection);
}

/// The most bytes that one read takes.
const CHUNK: usize = 8 << 10;

/// A socket that parks its goroutine where hyper could do something else: an HTTP/1 server has
/// nothing else to do while it reads a request or writes an answer, as its handler never waits for
/// a waker.
struct Socket {
    stream: TcpStream,
    read: Box<[u8]>,
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let Socket { stream, read } = &mut *self;
        let most = read.len().min(buf.remaining());
        let n = stream.read(&mut read[..most])?;
        buf.put_slice(&read[..n]);
        Poll::Ready(Ok(()))
    }
}

impl Write for Socket {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(self.stream.write(buf))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.shutdown(std::net::Shutdown::Write))
    }
}
