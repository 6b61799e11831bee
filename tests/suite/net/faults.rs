//! Faults of connections, on sockets of this machine: resets, half closes, deadlines, closes, a
//! lack of descriptors. The results are compared with those of std's sockets, and of threads that
//! wait.

use std::io::{self, ErrorKind};
use std::net::{self, Shutdown};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net as unix;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gosched::net::{TcpStream, UnixStream};
use gosched::runtime2::G;
use gosched::time::sleep_until;
use gosched::{blocking, proc, scope, yield_now};

use crate::harness::goroutines::{until_it_waits, waits};
use crate::harness::polled::*;
use crate::harness::rng::Rng;
use crate::harness::sockets::*;
use crate::harness::storm::turns;
use crate::harness::{Test, tests};

tests! {
    resets
    half_closes
    deadlines_of_an_accept
    deadlines_of_a_writer
    a_deadline_that_was_moved_ends_nothing
    descriptors_run_out_while_an_accept_waits
}

/// Waits until the kernel knows that the other end is gone, and reports it to an operation.
fn until_it_is_gone(stream: &impl AsFd) {
    let mut fds = libc::pollfd { fd: stream.as_fd().as_raw_fd(), events: 0, revents: 0 };
    // A signal of the runtime's may end a poll.
    // SAFETY: the kernel writes the one entry.
    while blocking(|| unsafe { libc::poll(&mut fds, 1, -1) }) != 1 {}
}

/// Lets the goroutine that stores its G here run until it waits. For std's sockets, whose waiter is
/// a thread, waits for a while. If the waiter doesn't wait yet, a test checks less.
fn until_it_waits_or_a_while_has_passed(waiter: &AtomicPtr<G>) {
    let began = Instant::now();
    while !waits(waiter.load(Ordering::Relaxed)) && began.elapsed() < 20 * MS {
        yield_now();
    }
}

/// The outcome of operations: the number of bytes, and the last operation's error.
type Outcome = (usize, Option<(ErrorKind, Option<i32>)>);

fn outcome(result: io::Result<usize>) -> Outcome {
    match result {
        Ok(n) => (n, None),
        Err(error) => (0, Some((error.kind(), error.raw_os_error()))),
    }
}

/// Reads to the end.
fn read_on(stream: &impl Stream) -> Outcome {
    let mut sum = 0;
    loop {
        match outcome(stream.get(&mut [0; 64])) {
            (n @ 1.., None) => sum += n,
            (_, error) => return (sum, error),
        }
    }
}

/// Writes until a write fails, however much that takes.
fn write_on(stream: &impl Stream) -> Outcome {
    loop {
        if let Err(error) = stream.put(&[7; 1 << 16]) {
            return outcome(Err(error));
        }
    }
}

/// Returns the outcomes of all operations, one after the other.
fn afterwards(stream: &impl Stream) -> Vec<Outcome> {
    let mut outcomes = vec![outcome(stream.error().unwrap().map_or(Ok(0), Err))];
    for _ in 0..2 {
        outcomes.push(outcome(stream.get(&mut [0; 8])));
        outcomes.push(outcome(stream.put(b"x")));
    }
    outcomes
}

/// Resets a connection after `sent`, while `waits` waits, or, without `waits`, before any
/// operation.
fn reset<S: Stream>(
    waits: Option<fn(&S) -> Outcome>,
    sent: &[u8],
    then: fn(&S) -> Vec<Outcome>,
) -> Vec<Outcome> {
    let (ref a, b) = S::pair();
    a.put(b"not read").unwrap();
    let waiter = &AtomicPtr::new(ptr::null_mut());
    let mut outcomes = scope(|s| {
        let waiting = waits.map(|waits| {
            s.go(move || {
                waiter.store(proc::getg(), Ordering::Relaxed);
                waits(a)
            })
        });
        if waiting.is_some() {
            until_it_waits_or_a_while_has_passed(waiter);
        }
        if !sent.is_empty() {
            b.put(sent).unwrap();
        }
        to_be_reset(&b);
        drop(b);
        until_it_is_gone(a);
        Vec::from_iter(waiting.map(|waiting| waiting.join().unwrap()))
    });
    outcomes.extend(then(a));
    outcomes
}

fn resets_of_readers<S: Stream>() -> Vec<Vec<Outcome>> {
    vec![
        reset::<S>(Some(|a| outcome(a.get(&mut [0; 8]))), b"", afterwards),
        reset::<S>(Some(read_on), b"abc", afterwards),
        reset::<S>(None, b"", afterwards),
        reset::<S>(None, b"abc", |a| vec![read_on(a), read_on(a)]),
        reset::<S>(None, b"", |a| vec![read_on(a), write_on(a)]),
    ]
}

fn resets_of_writers<S: Stream>() -> Vec<Vec<Outcome>> {
    vec![
        reset::<S>(Some(write_on), b"", afterwards),
        reset::<S>(None, b"", |a| vec![write_on(a), write_on(a)]),
    ]
}

fn resets(test: Test) {
    let is_reset = (0, Some((ErrorKind::ConnectionReset, Some(libc::ECONNRESET))));
    with_one_p_and_several(test, || {
        let readers_of_std = resets_of_readers::<net::TcpStream>();
        let writers_of_std = resets_of_writers::<net::TcpStream>();
        assert_eq!((&readers_of_std[0][0], &writers_of_std[0][0]), (&is_reset, &is_reset));
        // The kernel reports one error to a writer that waits, and another to one that comes back.
        let of_this_machine = resets_of_readers::<unix::UnixStream>();
        for _ in 0..5 {
            assert_eq!(resets_of_readers::<TcpStream>(), readers_of_std);
            assert_eq!(resets_of_writers::<TcpStream>(), writers_of_std);
            assert_eq!(resets_of_readers::<UnixStream>(), of_this_machine);
        }
    });
}

/// Returns the outcome of `waits` when one of the two ends is shut down in one direction.
fn shut<S: Stream>((a, b): &(S, S), waits: fn(&S) -> Outcome, by_other: bool, how: Shutdown) -> Outcome {
    scope(|s| {
        let waiting = s.go(|| waits(a));
        let_them_wait();
        if by_other { b } else { a }.end(how);
        waiting.join().unwrap()
    })
}

/// One direction ends, and the other goes on.
fn half_closed<S: Stream>() -> Vec<Outcome> {
    let mut outcomes = vec![shut(&S::pair(), read_on, false, Shutdown::Read)];
    let pair = S::pair();
    pair.1.put(b"abc").unwrap();
    outcomes.push(shut(&pair, read_on, true, Shutdown::Write));
    pair.0.put(b"defg").unwrap();
    outcomes.push(shut(&pair, write_on, false, Shutdown::Write));
    outcomes.push(write_on(&pair.0));
    let mut buf = [0; 4];
    outcomes.push(outcome(pair.1.get(&mut buf)));
    assert_eq!(&buf, b"defg");
    outcomes.push((0, read_on(&pair.1).1));
    outcomes
}

fn half_closes(test: Test) {
    with_one_p_and_several(test, || {
        let of_std = half_closed::<net::TcpStream>();
        assert_eq!(of_std[2], (0, Some((ErrorKind::BrokenPipe, Some(libc::EPIPE)))));
        assert_eq!(half_closed::<TcpStream>(), of_std);
    });
}

fn deadlines_of_an_accept(test: Test) {
    with_one_p_and_several(test, || {
        let (ref listener, addr) = listen();
        let accepts = || listener.accept().map(drop);
        let _first = TcpStream::connect(addr).unwrap();
        listener.set_read_deadline(Some(Instant::now()));
        // The accept times out although there is a connection.
        assert_eq!(kind(accepts()), ErrorKind::TimedOut);
        listener.set_read_deadline(None);
        accepts().unwrap();
        for earlier in [Duration::ZERO, MS] {
            listener.set_read_deadline(Some(Instant::now() + HOUR));
            scope(|s| {
                let waits = s.go(accepts);
                let_them_wait();
                listener.set_read_deadline(Some(Instant::now() + earlier));
                assert_eq!(kind(waits.join().unwrap()), ErrorKind::TimedOut);
            });
        }
        for later in [Some(HOUR), None] {
            let first = Instant::now() + 200 * MS;
            listener.set_read_deadline(Some(first));
            scope(|s| {
                let waits = s.go(accepts);
                let_them_wait();
                listener.set_read_deadline(later.map(|later| Instant::now() + later));
                let in_time = Instant::now() < first;
                sleep_until(first + MS);
                let _stream = TcpStream::connect(addr).unwrap();
                assert!(waits.join().unwrap().is_ok() || !in_time);
            });
        }
    });
}

/// A write that has waited until its deadline has written nothing.
fn deadlines_of_a_writer(test: Test) {
    with_one_p_and_several(test, || {
        let (ref a, ref b) = tcp_pair();
        let fill = || {
            let mut n = 0;
            loop {
                match a.put(&[7; 4096]) {
                    Ok(more) => n += more,
                    Err(error) => return (n, error.kind()),
                }
            }
        };
        let mut sum = 0;
        for (before, after) in [(None, Duration::ZERO), (Some(HOUR), Duration::ZERO), (Some(HOUR), MS)] {
            a.set_write_deadline(before.map(|before| Instant::now() + before));
            scope(|s| {
                let writer = s.go(fill);
                let_them_wait();
                a.set_write_deadline(Some(Instant::now() + after));
                let (n, kind) = writer.join().unwrap();
                assert_eq!(kind, ErrorKind::TimedOut);
                sum += n;
            });
        }
        a.set_write_deadline(None);
        scope(|s| {
            let reader = s.go(|| read_on(b));
            for _ in 0..1000 {
                sum += a.put(&[7; 4096]).unwrap();
            }
            a.end(Shutdown::Write);
            assert_eq!(reader.join().unwrap(), (sum, None));
        });
    });
}

/// However close the deadline was: its timer may have fired already.
fn a_deadline_that_was_moved_ends_nothing(test: Test) {
    with_one_p_and_several(test, || {
        let mut rng = Rng::seeded();
        scope(|s| {
            for _ in 0..8 {
                let mut rng = rng.fork();
                s.go(move || {
                    let (a, b) = tcp_pair();
                    for _ in turns(1000, || true) {
                        a.set_read_deadline(Some(
                            Instant::now() + Duration::from_micros(1 + rng.below(60) as u64),
                        ));
                        for _ in 0..rng.below(30) {
                            yield_now();
                        }
                        let later = [None, Some(HOUR)][rng.below(2)];
                        a.set_read_deadline(later.map(|later| Instant::now() + later));
                        yield_now();
                        b.put(b"x").unwrap();
                        assert_eq!(read_one(&a).unwrap(), b'x');
                    }
                });
            }
        });
    });
}

fn descriptors_run_out_while_an_accept_waits(test: Test) {
    with_one_p_and_several(test, || {
        limit_descriptors(256);
        let (ref listener, addr) = listen();
        let wanting = &AtomicUsize::new(0);
        let mut rounds = 0;
        while rounds < 3 {
            wanting.store(0, Ordering::Relaxed);
            let acceptor = &AtomicPtr::new(ptr::null_mut());
            scope(|s| {
                let accepts = s.go(|| {
                    acceptor.store(proc::getg(), Ordering::Relaxed);
                    when_there_are_descriptors(|| listener.accept(), wanting).0
                });
                // While it tries, the accept uses a descriptor for a moment.
                until_it_waits(acceptor);
                let mut all = all_descriptors();
                // Frees one descriptor for the client.
                all.pop();
                // If the accept tries once more, in vain, it uses that descriptor for a moment.
                let client = when_there_are_descriptors(|| TcpStream::connect(addr), &AtomicUsize::new(0));
                // Sysmon may have had a descriptor when the others were taken. The accept gets it
                // now.
                while wanting.load(Ordering::Relaxed) < 3 && !accepts.is_finished() {
                    yield_now();
                }
                rounds += u32::from(wanting.load(Ordering::Relaxed) >= 3);
                drop(all);
                accepts.join().unwrap().put(b"x").unwrap();
                assert_eq!(read_one(client).unwrap(), b'x');
            });
        }
    });
}
