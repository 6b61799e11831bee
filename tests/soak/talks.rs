//! Connections, whose sides set modes and times, duplicate themselves and close beside each other.
//! All bytes come, in order.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::ledger::{Count, count};
use crate::random::Rng;

/// The place where the other side runs: one of the functions below.
type Beside = fn(&mut (dyn FnMut() + Send), &mut dyn FnMut());

pub fn on_goroutines(rng: Rng, end: Instant) {
    work(rng, end, |there, here| {
        gosched::scope(|goroutines| {
            goroutines.go(there);
            here();
        });
    });
}

pub fn on_threads(rng: Rng, end: Instant) {
    work(rng, end, |there, here| {
        thread::scope(|threads| {
            threads.spawn(there);
            here();
        });
    });
}

fn work(mut rng: Rng, end: Instant, beside: Beside) {
    while Instant::now() < end {
        talk(&mut rng, beside);
        count(Count::Talks, 1);
    }
}

/// A conversation with a side that sends everything back.
fn talk(rng: &mut Rng, beside: Beside) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let here = TcpStream::connect(listener.local_addr().expect("an address")).expect("it listens");
    let (there, _) = listener.accept().expect("it is connected");
    drop(listener);
    let (mut there, mut other_rng) = (Some(there), rng.fork());
    let mut here = Some(here);
    beside(&mut || echo(there.take().expect("once"), &mut other_rng), &mut || {
        let mut here = here.take().expect("once");
        for _ in 0..rng.below(60) {
            here = change(here, rng);
            let sent: Vec<u8> = (0..1 + rng.below(300)).map(|_| rng.next() as u8).collect();
            here.write_all(&sent).expect("the other side reads");
            let mut heard = vec![0; sent.len()];
            here.read_exact(&mut heard).expect("the other side sends it back");
            assert!(sent == heard, "other bytes");
        }
        match rng.below(2) {
            0 => here.shutdown(Shutdown::Write).expect("it is connected"),
            _ => drop(here),
        }
    });
}

fn echo(mut stream: TcpStream, rng: &mut Rng) {
    let mut buf = [0; 512];
    loop {
        let n = 1 + rng.below(buf.len());
        match stream.read(&mut buf[..n]) {
            Ok(0) => return,
            Ok(n) => stream.write_all(&buf[..n]).expect("the other side reads"),
            Err(error) => panic!("{error}"),
        }
        if rng.below(8) == 0 {
            stream = duplicate(stream);
        }
    }
}

fn duplicate(stream: TcpStream) -> TcpStream {
    stream.try_clone().expect("a descriptor")
}

/// Changes a setting while there is nothing to read, checks that it is heeded, and changes it back.
fn change(mut stream: TcpStream, rng: &mut Rng) -> TcpStream {
    let would_block = |mut stream: &TcpStream| {
        loop {
            match stream.read(&mut [0]).expect_err("there is nothing").kind() {
                ErrorKind::WouldBlock => return,
                // A signal ends a thread's read that has a time.
                error => assert_eq!(error, ErrorKind::Interrupted),
            }
        }
    };
    match rng.below(40) {
        0 => {
            stream.set_nonblocking(true).expect("a socket");
            would_block(&stream);
            stream.set_nonblocking(false).expect("a socket");
        }
        1 => {
            stream.set_read_timeout(Some(Duration::from_micros(200))).expect("a socket");
            would_block(&stream);
            stream.set_read_timeout(None).expect("a socket");
        }
        2 => {
            let other = duplicate(stream);
            other.set_nonblocking(true).expect("a socket");
            would_block(&other);
            other.set_nonblocking(false).expect("a socket");
            stream = other;
        }
        3 => {
            stream.set_nonblocking(true).expect("a socket");
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let addr = listener.local_addr().expect("an address");
            TcpStream::connect_timeout(&addr, Duration::from_secs(60)).expect("it listens");
            stream.set_nonblocking(false).expect("a socket");
        }
        _ => {}
    }
    stream
}
