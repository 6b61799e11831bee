//! Goroutines that block their threads in the kernel without declaring it by `blocking`. Some of
//! them wait for another goroutine.

use std::io::{ErrorKind, Read, Write, pipe};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use gosched::chan::bounded;
use gosched::{Scope, scope, time};

use crate::ledger::Ledger;
use crate::rng::Rng;
use crate::tally::{Op, count};

/// The most bytes that are sent at once.
const PIECE: usize = 3000;

pub fn sleeps(rng: &mut Rng) {
    let (sleepers, each) = (rng.up_to(6), rng.up_to(6));
    let ledger = Ledger::new(sleepers * each);
    let (tx, rx) = bounded(rng.below(3));
    scope(|s| {
        for _ in 0..sleepers {
            let (ledger, tx, mut rng) = (&ledger, tx.clone(), rng.fork());
            s.go(move || {
                for _ in 0..each {
                    let (since, pause) = (Instant::now(), Duration::from_micros(rng.below(3000) as u64));
                    thread::sleep(pause);
                    assert!(since.elapsed() >= pause);
                    count(Op::Block);
                    assert!(tx.send(ledger.token()).is_ok());
                    ledger.sent();
                }
            });
        }
        drop(tx);
        rx.iter().for_each(|token| ledger.received(token));
    });
    ledger.settle();
}

/// Returns random bytes, so that a lost or doubled byte shows.
fn bytes(rng: &mut Rng) -> Vec<u8> {
    (0..rng.up_to(PIECE)).map(|_| rng.next() as u8).collect()
}

/// Starts a goroutine or a thread that sends back each piece that it reads, a while later.
fn echo<'s>(
    s: &'s Scope<'s, '_>,
    rng: &mut Rng,
    mut from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
) {
    let echo = move || {
        let mut piece = [0; PIECE];
        while let n @ 1.. = from.read(&mut piece).expect("it can be read") {
            thread::sleep(Duration::from_micros(n as u64 / 4));
            to.write_all(&piece[..n]).expect("it can be written");
            count(Op::Block);
        }
    };
    if rng.one_in(2) {
        s.go(echo);
    } else {
        thread::spawn(echo);
    }
}

pub fn pipes(rng: &mut Rng) {
    scope(|s| {
        for _ in 0..rng.up_to(4) {
            let mut rng = rng.fork();
            s.go(move || {
                let (from_here, mut to_thread) = pipe().expect("a pipe");
                let (mut from_thread, to_here) = pipe().expect("a pipe");
                echo(s, &mut rng, from_here, to_here);
                for _ in 0..rng.up_to(8) {
                    let sent = bytes(&mut rng);
                    let mut received = vec![0; sent.len()];
                    to_thread.write_all(&sent).expect("it can be written");
                    from_thread.read_exact(&mut received).expect("it can be read");
                    assert!(received == sent, "other bytes");
                    count(Op::Block);
                }
                drop(to_thread);
                assert_eq!(from_thread.read(&mut [0]).expect("the end"), 0);
            });
        }
    });
}

/// Sockets with a read timeout. Such a read isn't restarted after a signal, so some end with EINTR;
/// others end because the timeout is over.
pub fn sockets(rng: &mut Rng) {
    scope(|s| {
        for _ in 0..rng.up_to(4) {
            let mut rng = rng.fork();
            s.go(move || {
                let (mut here, there) = UnixStream::pair().expect("a pair");
                echo(s, &mut rng, there.try_clone().expect("another one"), there);
                let patience = Duration::from_micros(rng.up_to(2000) as u64);
                here.set_read_timeout(Some(patience)).expect("it can have one");
                for _ in 0..rng.up_to(8) {
                    let sent = bytes(&mut rng);
                    let mut received = vec![0; sent.len()];
                    here.write_all(&sent).expect("it can be written");
                    let mut n = 0;
                    while n < sent.len() {
                        match here.read(&mut received[n..]) {
                            Ok(more) => n += more,
                            Err(error) if error.kind() == ErrorKind::Interrupted => {}
                            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                        }
                    }
                    assert!(received == sent, "other bytes");
                    count(Op::Block);
                }
            });
        }
    });
}

/// A pipe that is full most of the time, so that its writer blocks. Beside it, a goroutine sleeps
/// for short times.
pub fn full_pipe(rng: &mut Rng) {
    let (length, pause) = (rng.up_to(400_000), Duration::from_micros(rng.below(1000) as u64));
    let (mut from, mut to) = pipe().expect("a pipe");
    scope(|s| {
        s.go(move || {
            to.write_all(&vec![1; length]).expect("it can be written");
            count(Op::Block);
        });
        s.go(move || {
            let (mut all, mut piece) = (0, [0; 20_000]);
            while let n @ 1.. = from.read(&mut piece).expect("it can be read") {
                all += n;
                thread::sleep(pause);
                count(Op::Block);
            }
            assert_eq!(all, length);
        });
        for _ in 0..5 {
            time::sleep(Duration::from_micros(200));
            count(Op::Sleep);
        }
    });
}
