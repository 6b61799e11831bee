//! The scheduler's state as a stream of events.

use std::io::Read;
use std::net::SocketAddr;
use std::sync::Arc;

use gosched::inspect::Inspector;
use gosched::net::TcpStream;
use gosched::sync::WaitGroup;
use gosched::{go, gomaxprocs, num_goroutine, run, yield_now};

use crate::harness::tests;
use crate::inspect::client::{get, send, serve};
use crate::inspect::json::Json;

tests! {
    events
    a_client_that_leaves
    a_client_that_talks
}

fn begin(address: SocketAddr) -> TcpStream {
    send(address, format!("GET /api/live HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes())
}

/// Reads the head and `n` events.
fn read_events(stream: &mut TcpStream, n: usize) -> Vec<Json> {
    let mut text = Vec::new();
    let mut byte = [0];
    while text.windows(2).filter(|two| two == b"\n\n").count() < n {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "an early end");
        text.push(byte[0]);
    }
    let text = String::from_utf8(text).unwrap();
    let (head, events) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("Content-Type: text/event-stream"), "{head}");
    let events = events.split_terminator("\n\n").map(|event| event.strip_prefix("data: ").expect("data"));
    events.map(Json::of).collect()
}

fn events() {
    run(|| {
        let address = serve(Inspector::new());
        let gate = Arc::new(WaitGroup::new());
        gate.add(1);
        for _ in 0..7 {
            let gate = gate.clone();
            go(move || gate.wait());
        }
        let mut stream = begin(address);
        let [first, second] = &read_events(&mut stream, 2)[..] else { panic!() };
        // Main, the server and the connection, too.
        assert_eq!(second["goroutines"].number(), 10.0);
        for event in [first, second] {
            assert_eq!(event["procs"].items().len(), gomaxprocs());
            assert!(event["threads"].number() >= 1.0);
            let states = ["idle", "running", "syscall"];
            assert!(event["procs"].items().iter().all(|p| states.contains(&p["status"].text())), "{event:?}");
            // The goroutine that answers runs, if maybe without a P.
            assert!(event["ms"].items().iter().any(|m| m["g"] != Json::Null), "{event:?}");
        }
        assert!(second["created"].number() >= 0.0 && second["latency"]["p50"] != Json::Bool(false));
        gate.done();
    });
}

/// Leaves no goroutine behind, and no look at the goroutines.
fn a_client_that_leaves() {
    run(|| {
        let address = serve(Inspector::new());
        let look = get(address, "/api/goroutines").json()["look"].number();
        let group = || get(address, &format!("/api/group?look={look}&id=0")).status;
        assert_eq!(group(), 200);
        let settled = || {
            while num_goroutine() != 2 {
                yield_now();
            }
        };
        settled();
        for events in [1, 2] {
            let mut streams: Vec<_> = (0..3).map(|_| begin(address)).collect();
            streams.iter_mut().for_each(|stream| drop(read_events(stream, events)));
            assert_eq!(num_goroutine(), 5);
            drop(streams);
            settled();
        }
        assert_eq!(group(), 410);
    });
}

fn a_client_that_talks() {
    run(|| {
        let address = serve(Inspector::new());
        let text = format!("GET /api/live HTTP/1.1\r\nHost: {address}\r\n\r\n");
        let mut stream = send(address, text.as_bytes());
        read_events(&mut stream, 1);
        std::io::Write::write_all(&mut stream, b"more").unwrap();
        // An error, where the server has closed it with unread bytes.
        let _ = stream.read_to_end(&mut Vec::new());
    });
}
