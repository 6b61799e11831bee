//! The lateness of a ticker beside goroutines that keep their threads in various ways; and the
//! share of the processors that computing goroutines get.
//!
//! `go/beside.go` does the same.

use std::hint::black_box;
use std::io::{Read, Write, pipe};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::panic::resume_unwind;
use std::process::exit;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use gosched::go;
use gosched::time::{Ticker, sleep};
use gosched_benches::foreign::{SilentServer, handle_by_computing, raise_sigusr1, spin_in_c};
use gosched_benches::{Args, cpu_time, ticks};
use rustix::net::listen;

use crate::monitor::report_waits;

/// The workloads, and functions that start the goroutines beside the ticker. These goroutines never
/// end.
const WORKLOADS: [(&str, fn()); 12] = [
    ("beside_nothing", || ()),
    ("beside_loop", || loops(1)),
    ("beside_2_loops", || loops(2)),
    ("beside_100_loops", || loops(HOGS)),
    ("beside_c", c),
    ("beside_sleep", sleeper),
    ("beside_mutex", mutex),
    ("beside_pipe", full_pipe),
    ("beside_connect", connect),
    ("beside_lookup", look_up),
    ("beside_drop", drop_in_panic),
    ("beside_handler", handler),
];

/// The number of loops in a workload of many.
const HOGS: usize = 100;

/// How long a goroutine waits each time.
const PAUSE: Duration = Duration::from_millis(200);

/// Runs the one workload that is named, and ends the process, because its goroutines never end.
pub fn run(args: &Args) {
    for (name, start) in WORKLOADS {
        if args.is_only(name) {
            start();
            let wanted = ticks();
            report_waits(args, name, &lateness(|count| count < wanted));
            exit(0);
        }
    }
    if args.is_only("hogs") {
        hogs(args);
        exit(0);
    }
}

/// Returns how late the ticks of a ticker of 10 ms were, in nanoseconds. It goes on as long as
/// `more` returns true. A tick may be dropped because the one before hasn't been received: its
/// lateness is counted up to the next tick that comes.
pub fn lateness(more: impl Fn(usize) -> bool) -> Vec<f64> {
    const PERIOD: Duration = Duration::from_millis(10);
    let mut late = Vec::new();
    let mut due = Instant::now() + PERIOD;
    let ticker = Ticker::new(PERIOD);
    while more(late.len()) {
        ticker.c().recv().unwrap();
        let now = Instant::now();
        while due <= now && more(late.len()) {
            late.push((now - due).as_nanos() as f64);
            due += PERIOD;
        }
    }
    late
}

fn loops(count: usize) {
    for _ in 0..count {
        go(|| {
            loop {
                black_box(());
            }
        });
    }
}

fn c() {
    go(|| spin_in_c());
}

fn sleeper() {
    go(|| {
        loop {
            thread::sleep(PAUSE);
        }
    });
}

/// Two goroutines on one mutex of std. The holder parks while it holds the mutex, so the other
/// goroutine blocks its thread.
fn mutex() {
    static MUTEX: Mutex<()> = Mutex::new(());
    go(|| {
        loop {
            let guard = MUTEX.lock().unwrap();
            sleep(PAUSE);
            drop(guard);
        }
    });
    go(|| {
        loop {
            drop(MUTEX.lock().unwrap());
            sleep(Duration::from_millis(1));
        }
    });
}

/// A goroutine that writes to a pipe, which a thread empties from time to time.
fn full_pipe() {
    let (mut reader, mut writer) = pipe().unwrap();
    thread::spawn(move || {
        let mut buf = vec![0; 1 << 20];
        loop {
            thread::sleep(PAUSE);
            assert_ne!(reader.read(&mut buf).unwrap(), 0);
        }
    });
    go(move || {
        loop {
            writer.write_all(&[0; 4096]).unwrap();
        }
    });
}

/// A goroutine that connects to a server which never accepts. Once the server's backlog is full, a
/// connection takes minutes.
fn connect() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    listen(&server, 0).unwrap();
    let address = server.local_addr().unwrap();
    go(move || {
        let _server = server;
        let mut connections = Vec::new();
        loop {
            connections.push(TcpStream::connect(address).unwrap());
        }
    });
}

fn look_up() {
    let server = SilentServer::start();
    go(move || {
        loop {
            let start = Instant::now();
            server.ask();
            assert!(("nobody.invalid", 80).to_socket_addrs().is_err());
            assert!(start.elapsed() >= PAUSE, "something else knew that there is no such name");
        }
    });
}

/// A goroutine that computes in a `Drop`, as it unwinds.
fn drop_in_panic() {
    struct Computes;
    impl Drop for Computes {
        fn drop(&mut self) {
            assert!(thread::panicking());
            loop {
                black_box(());
            }
        }
    }
    go(|| {
        let _computes = Computes;
        resume_unwind(Box::new(()))
    });
}

/// A goroutine that computes in a signal handler of the program's, again and again.
fn handler() {
    handle_by_computing();
    go(|| {
        loop {
            raise_sigusr1();
        }
    });
}

/// Measures how many processors many loops use.
fn hogs(args: &Args) {
    loops(HOGS);
    sleep(PAUSE);
    let (start, before) = (Instant::now(), cpu_time());
    sleep(Duration::from_secs(2));
    let processors = (cpu_time() - before) / start.elapsed().as_nanos() as f64;
    args.report("hogs", processors, "processors");
}
