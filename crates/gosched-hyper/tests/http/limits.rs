//! Limits of a server.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gosched::chan::{Sender, unbounded};
use gosched::go;
use gosched::net::{TcpListener, TcpStream};
use gosched_hyper::server::Server;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};

use crate::{answer, get, path, serve, wait_for_end};

/// A limit that passes in any case.
const SHORT: Duration = Duration::from_millis(10);

#[test]
fn a_client_that_sends_no_head_is_left() {
    gosched::run(|| {
        let server = serve(Server::new().header_timeout(SHORT).idle_timeout(None), service_fn(path));
        let (mut silent, mut slow) = (server.connect(), server.connect());
        slow.write_all(b"GET / HTTP/1.1\r\nHost: loc").unwrap();
        wait_for_end(&mut silent);
        wait_for_end(&mut slow);
    });
}

/// The time begins with the first byte of the head.
#[test]
fn a_head_has_a_limit_after_another_request_too() {
    gosched::run(|| {
        let server = serve(Server::new().header_timeout(SHORT).idle_timeout(None), service_fn(path));
        let mut stream = server.connect();
        // On a slow machine the first head may be too late as well.
        let _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n");
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: loc");
        let _ = stream.read_to_end(&mut Vec::new());
    });
}

#[test]
fn a_connection_without_requests_is_closed() {
    gosched::run(|| {
        let server = serve(Server::new().idle_timeout(SHORT), service_fn(path));
        let mut stream = server.connect();
        get(&mut stream, "/a");
        assert_eq!(answer(&mut stream), "/a");
        wait_for_end(&mut stream);
    });
}

/// A handler has no limit, and hyper asks for the next request only when it has answered.
#[test]
fn limits_dont_count_while_a_handler_runs() {
    gosched::run(|| {
        let server = Server::new().header_timeout(SHORT).idle_timeout(SHORT);
        let slow = service_fn(async |request| {
            gosched::time::sleep(10 * SHORT);
            path(request).await
        });
        let server = serve(server.header_timeout(Duration::from_secs(3600)), slow);
        let mut stream = server.connect();
        get(&mut stream, "/a");
        assert_eq!(answer(&mut stream), "/a");
    });
}

/// Tells that it is dropped.
pub(crate) struct Tells(pub(crate) Sender<()>);

impl Drop for Tells {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[test]
fn a_client_that_reads_nothing_is_left() {
    gosched::run(|| {
        let (tx, left) = unbounded();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        go(move || {
            Server::new().write_timeout(SHORT).serve_with(listener, move |_| {
                let tells = Arc::new(Tells(tx.clone()));
                service_fn(move |_: Request<Incoming>| {
                    let _tells = tells.clone();
                    let body = Full::new(Bytes::from(vec![0; 100 << 20]));
                    async { Ok::<_, std::convert::Infallible>(Response::new(body)) }
                })
            })
        });
        let mut stream = TcpStream::connect(addr).unwrap();
        get(&mut stream, "/");
        left.recv().unwrap();
    });
}

/// Counts connections while it lives.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn there_are_at_most_so_many_connections() {
    const MOST: usize = 3;
    gosched::run(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let (now, peak) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let seen = peak.clone();
        go(move || {
            Server::new().max_connections(MOST).serve_with(listener, move |_| {
                seen.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                let counted = Arc::new(Counted(now.clone()));
                service_fn(move |request| {
                    let _counted = counted.clone();
                    path(request)
                })
            })
        });
        let clients: Vec<_> = (0..30)
            .map(|n| {
                go(move || {
                    let mut stream = TcpStream::connect(addr).unwrap();
                    for _ in 0..10 {
                        get(&mut stream, &format!("/{n}"));
                        assert_eq!(answer(&mut stream), format!("/{n}"));
                    }
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        assert_eq!(peak.load(Ordering::Relaxed), MOST);
    });
}
