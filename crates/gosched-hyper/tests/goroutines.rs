//! How many goroutines a server has. In a process of its own, whose other goroutines don't count.

use std::convert::Infallible;
use std::io::{Read, Write, read_to_string};

use gosched::chan::unbounded;
use gosched::context::Context;
use gosched::net::{TcpListener, TcpStream};
use gosched::{go, num_goroutine, yield_now};
use gosched_hyper::server::Server;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};

/// The most goroutines that a server keeps while no handler waits, and some of the test's.
const FEW: usize = 110;
const CONNECTIONS: usize = 250;

fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        yield_now();
    }
}

fn get(stream: &mut TcpStream, path: &str) {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).unwrap();
}

fn answer(stream: &mut TcpStream) {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\nanswer") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        read.extend(byte);
    }
}

/// Connections have no goroutines, and handlers that wait have. Those end with the handlers, and
/// all others with the last connection.
#[test]
fn goroutines_of_handlers() {
    gosched::run(|| {
        let ((goes_on, may_go_on), (ctx, cancel)) = (unbounded::<()>(), Context::background().with_cancel());
        let handler = service_fn(move |request: Request<Incoming>| {
            let may_go_on = may_go_on.clone();
            async move {
                if request.uri().path() == "/waits" {
                    may_go_on.recv().unwrap();
                }
                Ok::<_, Infallible>(Response::new("answer".to_owned()))
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let server = go(move || Server::new().shutdown_on(&ctx).serve(listener, handler));
        let mut streams: Vec<_> = (0..CONNECTIONS).map(|_| TcpStream::connect(addr).unwrap()).collect();
        for _ in 0..2 {
            for _ in 0..3 {
                streams.iter_mut().for_each(|stream| get(stream, "/"));
                streams.iter_mut().for_each(answer);
            }
            wait_until(|| num_goroutine() < FEW);
            streams.iter_mut().for_each(|stream| get(stream, "/waits"));
            wait_until(|| num_goroutine() > CONNECTIONS);
            (0..CONNECTIONS).for_each(|_| goes_on.send(()).unwrap());
            streams.iter_mut().for_each(answer);
            wait_until(|| num_goroutine() < FEW);
        }
        cancel.cancel();
        server.join().unwrap().unwrap();
        for stream in streams {
            assert_eq!(read_to_string(stream).unwrap(), "");
        }
        wait_until(|| num_goroutine() == 1);
    });
}
