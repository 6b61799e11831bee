//! A library that knows nothing of the scheduler: HTTP calls by ureq, which waits in std's sockets.
//!
//! `go/beside.go` does the same with Go's net/http.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gosched::time::sleep;
use gosched::{go, scope};
use gosched_benches::Args;
use gosched_benches::quantile::quantile;

use crate::beside::lateness;

/// The number of calls, each on a goroutine of its own.
const CALLS: usize = 40;

/// Reports how long the calls take, and the largest lateness of a ticker meanwhile.
pub fn run(args: &Args) {
    if !args.names("library") {
        return;
    }
    static DONE: AtomicBool = AtomicBool::new(false);
    let url = format!("http://{}/", serve());
    let ticker = go(|| lateness(|_| !DONE.load(Ordering::Relaxed)));
    sleep(Duration::from_millis(25));
    let start = Instant::now();
    scope(|s| {
        for _ in 0..CALLS {
            s.go(|| assert_eq!(ureq::get(&url).call().unwrap().into_string().unwrap(), "hello"));
        }
    });
    args.report("library", start.elapsed().as_nanos() as f64, "ns");
    DONE.store(true, Ordering::Relaxed);
    args.report("library_late", quantile(&ticker.join().unwrap(), 1.0), "ns");
}

/// Starts a server with threads, which takes 50 ms for each answer.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            thread::spawn(move || answer(stream));
        }
    });
    address
}

fn answer(mut stream: TcpStream) {
    let mut lines = BufReader::new(&stream).lines();
    while !lines.next().unwrap().unwrap().is_empty() {}
    thread::sleep(Duration::from_millis(50));
    stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello").unwrap();
}
