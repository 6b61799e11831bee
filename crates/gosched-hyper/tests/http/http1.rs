//! HTTP/1: connections that are kept, pipelines, bodies, handlers that panic, upgrades.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::io::{ErrorKind, Read, Write};
use std::mem::replace;
use std::net;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::routing::{get as route, post};
use gosched::chan::{bounded, unbounded};
use gosched::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use gosched::{block_on, blocking, fs, go, num_goroutine, time, yield_now};
use gosched_hyper::server::{self, Server, downcast};
use gosched_hyper::{GoschedExecutor, tower};
use http_body_util::{BodyExt, Channel, Full};
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Executor, Read as _, ReadBuf, Write as _};
use hyper::service::service_fn;
use hyper::upgrade::Upgraded;
use hyper::{Request, Response, StatusCode, header, upgrade};

use crate::{Answer, answer, get, head, path, serve, wait_for_end};

#[test]
fn a_connection_is_kept_for_the_next_request() {
    gosched::run(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        go(move || {
            Server::new().serve_with(listener, move |_| {
                counted.fetch_add(1, Ordering::Relaxed);
                service_fn(path)
            })
        });
        let mut stream = gosched::net::TcpStream::connect(addr).unwrap();
        for n in 0..100 {
            get(&mut stream, &format!("/{n}"));
            assert_eq!(answer(&mut stream), format!("/{n}"));
        }
        assert_eq!(connections.load(Ordering::Relaxed), 1);
        write!(stream, "GET /last HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
        assert_eq!(answer(&mut stream), "/last");
        wait_for_end(&mut stream);
    });
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    gosched::run(|| {
        let server = serve(Server::new(), service_fn(path));
        let mut stream = server.connect();
        let requests: String = (0..1_000).map(|n| format!("GET /{n} HTTP/1.1\r\n\r\n")).collect();
        let mut writer = stream.try_clone().unwrap();
        let writes = go(move || writer.write_all(requests.as_bytes()));
        for n in 0..1_000 {
            assert_eq!(answer(&mut stream), format!("/{n}"));
        }
        writes.join().unwrap().unwrap();
    });
}

/// Each chunk of the request comes back before the client sends the next one. So the connection
/// writes while it waits for bytes.
#[test]
fn chunks_go_both_ways_at_once() {
    gosched::run(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let echo = service_fn(async |request: Request<Incoming>| {
            let (mut tx, body) = Channel::<Bytes, hyper::Error>::new(1);
            GoschedExecutor::new().execute(async move {
                let mut incoming = request.into_body();
                while let Some(frame) = incoming.frame().await {
                    if tx.send(frame.unwrap()).await.is_err() {
                        break;
                    }
                }
            });
            Ok::<_, Infallible>(Response::new(body))
        });
        go(move || server::serve(listener, echo));
        let mut stream = gosched::net::TcpStream::connect(addr).unwrap();
        write!(stream, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
        assert!(head(&mut stream).contains("transfer-encoding: chunked"));
        for n in 1..100 {
            let chunk = format!("{n:x}\r\n{}\r\n", "x".repeat(n));
            stream.write_all(chunk.as_bytes()).unwrap();
            let mut back = vec![0; chunk.len()];
            stream.read_exact(&mut back).unwrap();
            assert_eq!(String::from_utf8(back).unwrap().to_lowercase(), chunk);
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
        let mut end = [0; 5];
        stream.read_exact(&mut end).unwrap();
        assert_eq!(&end, b"0\r\n\r\n");
    });
}

#[test]
fn a_panic_ends_one_connection() {
    gosched::run(|| {
        let server = serve(
            Server::new(),
            service_fn(async |request: Request<Incoming>| {
                assert_ne!(request.uri().path(), "/panic", "as the test wants");
                path(request).await
            }),
        );
        let (mut first, mut second) = (server.connect(), server.connect());
        get(&mut first, "/a");
        assert_eq!(answer(&mut first), "/a");
        get(&mut second, "/panic");
        wait_for_end(&mut second);
        get(&mut first, "/b");
        assert_eq!(answer(&mut first), "/b");
        let mut third = server.connect();
        get(&mut third, "/c");
        assert_eq!(answer(&mut third), "/c");
        drop((first, third));
        server.end().unwrap();
    });
}

/// Wakers are called anywhere, also where nothing can wait.
#[test]
fn a_handler_waits_in_a_future_that_blocking_code_wakes() {
    gosched::run(|| {
        let (tx, rx) = unbounded::<&str>();
        let (waits, waiting) = unbounded();
        let server = serve(
            Server::new(),
            service_fn(move |_: Request<Incoming>| {
                let (rx, waits) = (rx.clone(), waits.clone());
                async move {
                    waits.send(()).unwrap();
                    Ok(Response::new(Full::from(rx.recv_async().await.unwrap())))
                }
            }),
        );
        let mut stream = server.connect();
        for _ in 0..100 {
            get(&mut stream, "/");
            waiting.recv().unwrap();
            blocking(|| tx.send("sent")).unwrap();
            assert_eq!(answer(&mut stream), "sent");
        }
    });
}

#[test]
fn a_handler_is_dropped_when_its_client_has_gone() {
    gosched::run(|| {
        let (tx, rx) = bounded::<()>(0);
        let (waits, waiting) = unbounded();
        let server = serve(
            Server::new(),
            service_fn(move |_: Request<Incoming>| {
                let (tx, waits) = (tx.clone(), waits.clone());
                async move {
                    let _open = tx;
                    waits.send(()).unwrap();
                    pending().await
                }
            }),
        );
        let mut stream = server.connect();
        get(&mut stream, "/");
        waiting.recv().unwrap();
        drop(stream);
        server.end().unwrap();
        assert!(rx.recv().is_err(), "all senders were dropped");
    });
}

/// Upgrades the connection of a request, and hands it over.
fn upgraded(mut request: Request<Incoming>, hand: impl FnOnce(Upgraded) + Send + 'static) -> Answer {
    go(move || hand(block_on(upgrade::on(&mut request)).unwrap()));
    let response = Response::builder().status(StatusCode::SWITCHING_PROTOCOLS);
    Ok(response.header(header::UPGRADE, "echo").body(Full::default()).unwrap())
}

/// Echoes until the end.
async fn echo(mut stream: Upgraded) {
    loop {
        let mut bytes = [0; 16];
        let mut buf = ReadBuf::new(&mut bytes);
        poll_fn(|task| Pin::new(&mut stream).poll_read(task, buf.unfilled())).await.unwrap();
        if buf.filled().is_empty() {
            return;
        }
        let n = poll_fn(|task| Pin::new(&mut stream).poll_write(task, buf.filled())).await;
        assert_eq!(n.unwrap(), buf.filled().len());
    }
}

/// Asks for an upgrade, with bytes behind the request.
fn ask_for_upgrade(stream: &mut TcpStream, behind: &str) {
    write!(stream, "GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n{behind}").unwrap();
}

fn assert_echoes(stream: &mut TcpStream) {
    for _ in 0..10 {
        stream.write_all(b"hello").unwrap();
        let mut back = [0; 5];
        stream.read_exact(&mut back).unwrap();
        assert_eq!(&back, b"hello");
    }
}

#[test]
fn a_connection_is_upgraded() {
    gosched::run(|| {
        let service =
            async |request| upgraded(request, |stream| GoschedExecutor::new().execute(echo(stream)));
        let server = serve(Server::new(), service_fn(service));
        let mut stream = server.connect();
        ask_for_upgrade(&mut stream, "first");
        assert!(head(&mut stream).starts_with("HTTP/1.1 101"));
        let mut back = [0; 5];
        stream.read_exact(&mut back).unwrap();
        assert_eq!(&back, b"first");
        assert_echoes(&mut stream);
    });
}

/// A handler that isn't ready at once. So its connection's task begins to wait for bytes, too.
async fn wait_once() {
    let mut waited = false;
    poll_fn(|task| {
        task.waker().wake_by_ref();
        if replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// The echo goes on when the server, and all that polls for it, have ended.
#[test]
fn an_upgraded_connection_outlives_its_server() {
    gosched::run(|| {
        for _ in 0..10 {
            let goroutines = num_goroutine();
            let service = async |request| {
                wait_once().await;
                upgraded(request, |stream| GoschedExecutor::new().execute(echo(stream)))
            };
            let server = serve(Server::new(), service_fn(service));
            let mut stream = server.connect();
            ask_for_upgrade(&mut stream, "");
            assert!(head(&mut stream).starts_with("HTTP/1.1 101"));
            server.end().unwrap();
            // The echo is left.
            while num_goroutine() > goroutines + 1 {
                yield_now();
            }
            let echoes = time::timeout(Duration::from_secs(60), || assert_echoes(&mut stream));
            assert_eq!(echoes, Ok(()));
        }
    });
}

/// A wait for bytes that has begun before the upgrade keeps nobody from the socket.
#[test]
fn an_upgraded_socket_has_no_other_reader() {
    gosched::run(|| {
        let (tx, rx) = unbounded();
        let server = serve(
            Server::new(),
            service_fn(move |request| {
                let tx = tx.clone();
                async move {
                    wait_once().await;
                    upgraded(request, move |stream| tx.send(stream).unwrap())
                }
            }),
        );
        let mut client = server.connect();
        ask_for_upgrade(&mut client, "");
        let (stream, ahead) = downcast::<net::TcpStream>(rx.recv().unwrap()).unwrap();
        assert!(ahead.is_empty());
        let read = time::timeout(Duration::from_secs(60), || stream.try_read(&mut [0; 8]));
        assert_eq!(read.unwrap().unwrap_err().kind(), ErrorKind::WouldBlock);
    });
}

#[test]
fn an_axum_router_is_served() {
    gosched::run(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let app = Router::new()
            .route("/users/{id}", route(async |Path(id): Path<u32>| format!("user {id}")))
            .route("/upper", post(async |body: String| body.to_uppercase()));
        go(move || server::serve(listener, tower(app)));
        let mut stream = gosched::net::TcpStream::connect(addr).unwrap();
        get(&mut stream, "/users/7");
        assert_eq!(answer(&mut stream), "user 7");
        write!(stream, "POST /upper HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello").unwrap();
        assert_eq!(answer(&mut stream), "HELLO");
        get(&mut stream, "/users/none");
        assert!(answer(&mut stream).starts_with("Invalid URL"));
    });
}

#[test]
fn a_unix_socket_is_served() {
    gosched::run(|| {
        let path = std::env::temp_dir().join(format!("gosched-hyper-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        go(move || server::serve(listener, service_fn(crate::path)));
        let mut stream = UnixStream::connect(&path).unwrap();
        write!(stream, "GET /a HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
        let answer = std::io::read_to_string(stream).unwrap();
        assert!(answer.ends_with("\r\n\r\n/a"), "{answer}");
        fs::remove_file(&path).unwrap();
    });
}
