//! The goroutines of a server: few poll all connections, and a handler that waits keeps one.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use gosched::chan::unbounded;
use gosched_hyper::server::Server;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;

use crate::{answer, get, path, serve, wait_for_end};

/// More than a server keeps.
const MANY: usize = 250;

/// All goroutines that there are wait in handlers, and another connection is served.
#[test]
fn a_handler_that_waits_holds_up_no_other_connection() {
    gosched::run(|| {
        let ((goes_on, may_go_on), (comes, came)) = (unbounded(), unbounded());
        let server = serve(
            Server::new(),
            service_fn(move |request: Request<Incoming>| {
                let (may_go_on, comes) = (may_go_on.clone(), comes.clone());
                async move {
                    if request.uri().path() == "/waits" {
                        comes.send(()).unwrap();
                        may_go_on.recv().unwrap();
                    }
                    path(request).await
                }
            }),
        );
        let mut streams: Vec<_> = (0..MANY).map(|_| server.connect()).collect();
        let mut other = server.connect();
        for _ in 0..2 {
            for stream in &mut streams {
                get(stream, "/waits");
                came.recv().unwrap();
                get(&mut other, "/other");
                assert_eq!(answer(&mut other), "/other");
            }
            for _ in &streams {
                goes_on.send(()).unwrap();
                get(&mut other, "/other");
                assert_eq!(answer(&mut other), "/other");
            }
            for stream in &mut streams {
                assert_eq!(answer(stream), "/waits");
            }
        }
        drop((streams, other));
        server.end().unwrap();
    });
}

/// A handler that never waits, but always has something to do.
#[test]
fn a_connection_that_is_always_ready_holds_up_no_other() {
    gosched::run(|| {
        let (ends, (comes, came)) = (Arc::new(AtomicBool::new(false)), unbounded());
        let server = serve(Server::new(), {
            let ends = ends.clone();
            service_fn(move |request: Request<Incoming>| {
                let (ends, comes) = (ends.clone(), comes.clone());
                async move {
                    if request.uri().path() == "/busy" {
                        comes.send(()).unwrap();
                        poll_fn(|task| {
                            task.waker().wake_by_ref();
                            if ends.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
                        })
                        .await;
                    }
                    path(request).await
                }
            })
        });
        let mut busy: [_; 4] = std::array::from_fn(|_| server.connect());
        for stream in &mut busy {
            get(stream, "/busy");
            came.recv().unwrap();
        }
        let mut other = server.connect();
        for _ in 0..10 {
            get(&mut other, "/other");
            assert_eq!(answer(&mut other), "/other");
        }
        ends.store(true, Ordering::Relaxed);
        for stream in &mut busy {
            assert_eq!(answer(stream), "/busy");
        }
        server.end().unwrap();
    });
}

/// The goroutine that panics ends, and others go on.
#[test]
fn panics_leave_enough_goroutines() {
    gosched::run(|| {
        let server = serve(
            Server::new(),
            service_fn(async |request: Request<Incoming>| {
                if request.uri().path() == "/exits" {
                    gosched::goexit();
                }
                path(request).await
            }),
        );
        let mut other = server.connect();
        for _ in 0..MANY {
            let mut stream = server.connect();
            get(&mut stream, "/exits");
            wait_for_end(&mut stream);
            get(&mut other, "/other");
            assert_eq!(answer(&mut other), "/other");
        }
        drop(other);
        server.end().unwrap();
    });
}
