//! The end of a server.

use std::convert::Infallible;
use std::future::pending;
use std::io::{ErrorKind, Read, Write, read_to_string};
use std::time::Duration;

use gosched::chan::unbounded;
use gosched::context::{Context, ContextError};
use gosched::go;
use gosched::net::{TcpListener, TcpStream};
use gosched_hyper::server::Server;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};

use crate::{answer, get, path, serve, wait_for_end};

/// A connection without a request ends at once, one with a request after its answer. Nobody is
/// accepted any more.
#[test]
fn requests_that_have_come_are_answered() {
    gosched::run(|| {
        let (go_on, may_go_on) = unbounded::<()>();
        let (comes, came) = unbounded();
        let server = serve(
            Server::new(),
            service_fn(move |request: Request<Incoming>| {
                let (may_go_on, comes) = (may_go_on.clone(), comes.clone());
                async move {
                    comes.send(()).unwrap();
                    match request.uri().path() {
                        "/thread" => may_go_on.recv().unwrap(),
                        _ => may_go_on.recv_async().await.unwrap(),
                    }
                    path(request).await
                }
            }),
        );
        let (mut busy, mut async_busy, mut idle) = (server.connect(), server.connect(), server.connect());
        get(&mut idle, "/idle");
        go_on.send(()).unwrap();
        assert_eq!(answer(&mut idle), "/idle");
        came.recv().unwrap();
        get(&mut busy, "/thread");
        get(&mut async_busy, "/future");
        for _ in 0..2 {
            came.recv().unwrap();
        }
        server.cancel.cancel();
        wait_for_end(&mut idle);
        while TcpStream::connect(server.addr).is_ok() {
            gosched::yield_now();
        }
        assert!(!server.serve.is_finished());
        for _ in 0..2 {
            go_on.send(()).unwrap();
        }
        for (stream, path) in [(&mut busy, "/thread"), (&mut async_busy, "/future")] {
            let answer = read_to_string(stream).unwrap();
            assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
            assert!(answer.ends_with(path), "{answer}");
        }
        server.serve.join().unwrap().unwrap();
    });
}

#[test]
fn a_shutdown_has_a_limit() {
    gosched::run(|| {
        let (comes, came) = unbounded();
        let server = serve(
            Server::new().shutdown_limit(Duration::from_millis(1)),
            service_fn(move |_: Request<Incoming>| {
                let comes = comes.clone();
                async move {
                    comes.send(()).unwrap();
                    pending().await
                }
            }),
        );
        let mut stream = server.connect();
        get(&mut stream, "/");
        came.recv().unwrap();
        assert_eq!(server.end().unwrap_err().kind(), ErrorKind::TimedOut);
        wait_for_end(&mut stream);
    });
}

#[test]
fn a_handler_that_waits_with_the_peers_context_ends() {
    gosched::run(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let (ctx, cancel) = Context::background().with_cancel();
        let ((comes, came), (tells, told)) = (unbounded(), unbounded());
        let server = go(move || {
            let server = Server::new().shutdown_on(&ctx).shutdown_limit(Duration::from_millis(1));
            server.serve_with(listener, move |peer| {
                let (ctx, comes, tells) = (peer.context().clone(), comes.clone(), tells.clone());
                service_fn(move |_: Request<Incoming>| {
                    let (ctx, comes, tells) = (ctx.clone(), comes.clone(), tells.clone());
                    async move {
                        comes.send(()).unwrap();
                        tells.send(ctx.sleep(Duration::from_secs(3600))).unwrap();
                        Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
                    }
                })
            })
        });
        let mut stream = TcpStream::connect(addr).unwrap();
        get(&mut stream, "/");
        came.recv().unwrap();
        cancel.cancel();
        assert_eq!(server.join().unwrap().unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(told.recv().unwrap(), Err(ContextError::Canceled));
        // It may have an answer before.
        let _ = stream.read_to_end(&mut Vec::new());
    });
}

#[test]
fn a_connection_that_has_sent_nothing_ends_at_once() {
    gosched::run(|| {
        let server = serve(Server::new(), service_fn(path));
        let (mut silent, mut half) = (server.connect(), server.connect());
        half.write_all(b"PRI * HT").unwrap();
        let mut other = server.connect();
        get(&mut other, "/a");
        assert_eq!(answer(&mut other), "/a");
        server.end().unwrap();
        wait_for_end(&mut silent);
        wait_for_end(&mut half);
    });
}
