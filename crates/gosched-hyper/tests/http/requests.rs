//! Limits of requests, and goroutines of their own.

use std::convert::Infallible;
use std::future::pending;
use std::io::{Write, read_to_string};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use gosched::chan::{Receiver, Sender, unbounded};
use gosched::net::{TcpListener, TcpStream};
use gosched::{block_on, go, time};
use gosched_hyper::server::Server;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};

use crate::limits::Tells;
use crate::{Answer, answer, get, head, http2, path, serve, wait_for_end};

/// A limit that passes in any case.
const SHORT: Duration = Duration::from_millis(10);
/// A limit that doesn't.
const LONG: Duration = Duration::from_secs(3600);

/// Waits forever, and tells when it has ended.
async fn wait_forever(request: Request<Incoming>, tells: Tells) -> Answer {
    let _tells = tells;
    match request.uri().path() {
        "/thread" => time::sleep(LONG),
        "/body" => drop(block_on(request.into_body().collect())),
        _ => pending().await,
    }
    unreachable!("the waits have no other end")
}

/// Three ways to wait, which the limit ends.
#[test]
fn a_request_that_takes_too_long_ends() {
    gosched::run(|| {
        let (tx, ended) = unbounded();
        let server = serve(
            Server::new().request_timeout(SHORT),
            service_fn(move |request| wait_forever(request, Tells(tx.clone()))),
        );
        for path in ["/thread", "/future", "/body"] {
            let mut stream = server.connect();
            write!(stream, "POST {path} HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe").unwrap();
            let head = head(&mut stream);
            assert!(head.starts_with("HTTP/1.1 503"), "{head}");
            assert!(head.contains("connection: close"), "{head}");
            wait_for_end(&mut stream);
            ended.recv().unwrap();
        }
        server.end().unwrap();
    });
}

#[test]
fn a_stream_of_http2_that_takes_too_long_ends() {
    gosched::run(|| {
        let (tx, ended) = unbounded();
        let server = serve(
            Server::new().request_timeout(SHORT),
            service_fn(move |request| wait_forever(request, Tells(tx.clone()))),
        );
        let mut sender = http2::connect(server.connect());
        for path in ["/thread", "/future"] {
            let request = Request::get(format!("http://localhost{path}")).body(Full::default()).unwrap();
            let answer = block_on(sender.send_request(request)).unwrap();
            assert_eq!(answer.status(), 503);
            ended.recv().unwrap();
        }
        drop(sender);
        server.end().unwrap();
    });
}

/// Has no end.
struct Endless;

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

#[test]
fn an_answer_that_takes_too_long_ends() {
    gosched::run(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let endless = service_fn(async |_: Request<Incoming>| Ok::<_, Infallible>(Response::new(Endless)));
        go(move || Server::new().request_timeout(SHORT).serve(listener, endless));
        let mut stream = TcpStream::connect(addr).unwrap();
        get(&mut stream, "/");
        assert!(head(&mut stream).starts_with("HTTP/1.1 200"));
        // Not the chunk that ends a body.
        wait_for_end(&mut stream);
    });
}

/// The second part of the body is sent when the handler has the first.
fn parts(server: Server) {
    let (tx, came): (Sender<()>, Receiver<()>) = unbounded();
    let collect = service_fn(move |request: Request<Incoming>| {
        let tx = tx.clone();
        async move {
            let waits = request.uri().path() == "/thread";
            let collects = async {
                let mut body = request.into_body();
                let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
                tx.send(()).unwrap();
                [first, body.collect().await.unwrap().to_bytes()].concat()
            };
            let all = if waits { block_on(collects) } else { collects.await };
            Ok(Response::new(Full::from(all)))
        }
    });
    let server = serve(server, collect);
    let mut stream = server.connect();
    for path in ["/thread", "/future"] {
        write!(stream, "POST {path} HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe").unwrap();
        came.recv().unwrap();
        stream.write_all(b"llo").unwrap();
        assert_eq!(answer(&mut stream), "hello");
    }
    server.end().unwrap();
}

#[test]
fn a_body_arrives_in_parts_while_a_handler_waits() {
    gosched::run(|| {
        parts(Server::new().request_timeout(LONG));
        parts(Server::new().max_requests(1));
        parts(Server::new().goroutine_per_request(true));
    });
}

#[test]
fn a_handler_ends_when_its_client_has_gone() {
    gosched::run(|| {
        let (tx, ended) = unbounded();
        let (comes, came) = unbounded();
        let server = serve(
            Server::new().goroutine_per_request(true),
            service_fn(move |request| {
                comes.send(()).unwrap();
                wait_forever(request, Tells(tx.clone()))
            }),
        );
        for path in ["/thread", "/future"] {
            let mut stream = server.connect();
            get(&mut stream, path);
            came.recv().unwrap();
            drop(stream);
            ended.recv().unwrap();
        }
        server.end().unwrap();
    });
}

#[test]
fn there_are_at_most_so_many_requests() {
    const MOST: usize = 3;
    gosched::run(|| {
        let (now, peak) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let seen = peak.clone();
        let server = serve(
            Server::new().max_requests(MOST),
            service_fn(move |request| {
                let (now, seen) = (now.clone(), seen.clone());
                async move {
                    seen.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                    while seen.load(Ordering::Relaxed) < MOST {
                        gosched::yield_now();
                    }
                    now.fetch_sub(1, Ordering::Relaxed);
                    path(request).await
                }
            }),
        );
        let clients: Vec<_> = (0..30)
            .map(|n| {
                let mut stream = server.connect();
                go(move || {
                    for _ in 0..3 {
                        get(&mut stream, &format!("/{n}"));
                        assert_eq!(answer(&mut stream), format!("/{n}"));
                    }
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        assert_eq!(peak.load(Ordering::Relaxed), MOST);
        server.end().unwrap();
    });
}

/// The place of a request whose time was up while it waited stays with the one that has it.
#[test]
fn a_request_without_a_place_is_too_late() {
    gosched::run(|| {
        let (comes, came) = unbounded();
        let (tx, may_end) = unbounded::<()>();
        let server = serve(
            Server::new().max_requests(1).request_timeout(SHORT),
            service_fn(move |request| {
                let (comes, may_end) = (comes.clone(), may_end.clone());
                async move {
                    comes.send(()).unwrap();
                    // Isn't ended.
                    gosched::shield(|| may_end.recv().unwrap());
                    path(request).await
                }
            }),
        );
        let (mut first, mut second, mut third) = (server.connect(), server.connect(), server.connect());
        get(&mut first, "/1");
        came.recv().unwrap();
        get(&mut second, "/2");
        for stream in [&mut first, &mut second] {
            assert!(read_to_string(stream).unwrap().starts_with("HTTP/1.1 503"));
        }
        assert!(came.try_recv().is_err(), "a second request has a place");
        tx.send(()).unwrap();
        tx.send(()).unwrap();
        get(&mut third, "/3");
        // Late on a slow machine, but it has got the place.
        came.recv().unwrap();
        assert!(head(&mut third).starts_with("HTTP/1.1 "));
    });
}

#[test]
fn a_panic_of_a_handler_with_a_goroutine_ends_its_connection() {
    gosched::run(|| {
        let server = serve(
            Server::new().goroutine_per_request(true),
            service_fn(async |request: Request<Incoming>| {
                assert_ne!(request.uri().path(), "/panic", "as the test wants");
                path(request).await
            }),
        );
        let (mut panics, mut other) = (server.connect(), server.connect());
        get(&mut panics, "/panic");
        wait_for_end(&mut panics);
        get(&mut other, "/a");
        assert_eq!(answer(&mut other), "/a");
        server.end().unwrap();
    });
}
