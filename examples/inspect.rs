//! A server with troubles, to be found on the page of `gosched::inspect`.
//!
//! ```text
//!     CARGO_PROFILE_RELEASE_DEBUG=limited \
//!     cargo run --release --features inspect --example inspect
//! ```
//!
//! - Ten thousand clients wait for an answer that never comes.
//! - A lock is held while its holder sleeps, and twenty workers want it.
//! - A goroutine computes without a check, and keeps its P until that is taken from it.
//! - Each second some goroutines are made that nobody will ever wake: a leak.
//!
//! The first argument is the address, `127.0.0.1:7070` if there is none. The second is the number
//! of clients.

#![forbid(unsafe_code)]

use std::env;
use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gosched::chan::{Receiver, bounded};
use gosched::inspect::Inspector;
use gosched::labels::with_labels;
use gosched::net::TcpListener;
use gosched::sync::Mutex;
use gosched::time::sleep;
use gosched::{Builder, go, pprof, yield_now};

fn main() -> io::Result<()> {
    let address = env::args().nth(1).unwrap_or("127.0.0.1:7070".into());
    let clients = env::args().nth(2).map_or(10_000, |clients| clients.parse().expect("a number"));
    gosched::run(|| {
        let listener = TcpListener::bind(&address)?;
        println!("http://{}/", listener.local_addr()?);
        // These make the buttons "Waits" and "Locks held" show something.
        pprof::set_block_profile_rate(10_000);
        pprof::set_mutex_profile_fraction(10);
        let inspector = go(|| Inspector::new().serve(listener));
        let (_never, answers) = bounded::<u32>(0);
        (0..clients).for_each(|i| wait_for_an_answer(i, &answers));
        contend();
        named("cruncher", compute);
        named("leaking", leak);
        named("churn", churn);
        inspector.join().expect("it doesn't panic")
    })
}

fn named(name: &str, f: impl FnOnce() + Send + 'static) {
    drop(Builder::new().name(name).go(f).expect("memory for a goroutine"));
}

fn wait_for_an_answer(i: usize, answers: &Receiver<u32>) {
    let answers = answers.clone();
    let tenant = ["acme", "initech", "<b>umbrella</b>"][i % 3];
    with_labels([("tenant", tenant)], || drop(go(move || client(&answers))));
}

fn client(answers: &Receiver<u32>) {
    let _ = answers.recv();
}

/// The lock is held while its holder sleeps.
fn contend() {
    let cache = Arc::new(Mutex::new(0_u64));
    for i in 0..20 {
        let cache = cache.clone();
        named(&format!("worker {i}"), move || {
            loop {
                refresh(&mut cache.lock());
                yield_now();
            }
        });
    }
}

fn refresh(cached: &mut u64) {
    *cached += 1;
    sleep(Duration::from_millis(20));
}

/// It computes for 50 ms of 100, without a check.
fn compute() {
    loop {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(50) {
            black_box(collatz(black_box(837_799)));
        }
        sleep(Duration::from_millis(50));
    }
}

fn collatz(mut n: u64) -> u32 {
    let mut steps = 0;
    while n != 1 {
        n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

/// The goroutines wait for a channel that nobody sends to, and that nobody closes.
fn leak() {
    let mut kept = Vec::new();
    loop {
        let (never, rx) = bounded::<()>(0);
        kept.push(never);
        go(move || forgotten(&rx));
        sleep(Duration::from_millis(200));
    }
}

fn forgotten(never: &Receiver<()>) {
    let _ = never.recv();
}

/// Short goroutines, so that the scheduler has something to do.
fn churn() {
    loop {
        let short: Vec<_> = (0..200).map(|i| go(move || black_box(collatz(i + 1)))).collect();
        short.into_iter().for_each(|handle| drop(handle.join()));
        sleep(Duration::from_millis(5));
    }
}
