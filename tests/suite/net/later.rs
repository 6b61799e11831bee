//! Waiting without a goroutine: `go_when_readable`.

use std::cell::RefCell;
use std::hint::black_box;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use gosched::chan::{Receiver, Sender, bounded};
use gosched::labels::{labels, with_labels};
use gosched::net::{Readable, TcpStream, UnixStream, go_when_readable};
use gosched::sync::WaitGroup;
use gosched::{Builder, blocking, go, goexit, goroutine_local, num_goroutine, run, scope, yield_now};

use crate::harness::goroutines::{dump_with_detached, wait_until};
use crate::harness::polled::*;
use crate::harness::rng::Rng;
use crate::harness::sockets::{listen, tcp_pair, to_be_reset};
use crate::harness::{Test, memory, tests};

tests! {
    an_echo
    bytes_that_are_there
    after_a_short_read
    the_ends_of_a_stream
    a_deadline_and_a_close
    others_use_it_meanwhile
    nobody_runs_when_it_begins
    what_is_inherited
    with_a_builder
    it_panics_or_exits
    what_waits_takes_no_page
    whatever_comes_first
    more_than_the_poller_has_room_for
}

/// Starts a goroutine when `stream` is readable. The goroutine sends the result of `f`.
fn later<S: Readable, R: Send + 'static>(stream: S, f: impl FnOnce(S) -> R + Send + 'static) -> Receiver<R> {
    let (tx, rx) = bounded(1);
    go_when_readable(stream, move |stream| tx.send(f(stream)).map_err(drop).unwrap());
    rx
}

fn echo(mut stream: TcpStream) {
    let mut buf = [0; 64];
    if stream.read_exact(&mut buf).is_ok() && stream.write_all(&buf).is_ok() {
        go_when_readable(stream, echo);
    }
}

/// Does the same for a stream that others share.
fn shared_echo(stream: Arc<TcpStream>) {
    let mut buf = [0; 64];
    if (&*stream).read_exact(&mut buf).is_ok() && (&*stream).write_all(&buf).is_ok() {
        go_when_readable(stream, shared_echo);
    }
}

fn an_echo(test: Test) {
    with_one_p_and_several(test, || {
        let (listener, addr) = listen();
        go(move || {
            for (i, stream) in listener.incoming().enumerate() {
                match i % 2 {
                    0 => go_when_readable(stream.unwrap(), echo),
                    _ => go_when_readable(Arc::new(stream.unwrap()), shared_echo),
                }
            }
        });
        scope(|s| {
            for i in 0..50_u8 {
                s.go(move || {
                    let mut stream = TcpStream::connect(addr).unwrap();
                    for n in 0..50_u8 {
                        let sent = [i ^ n; 64];
                        // Now and then the message comes in two parts: the goroutine waits for the
                        // second.
                        let (one, two) = sent.split_at(if n % 8 == 0 { 32 } else { 0 });
                        stream.write_all(one).unwrap();
                        stream.write_all(two).unwrap();
                        let mut got = [0; 64];
                        stream.read_exact(&mut got).unwrap();
                        assert_eq!(sent, got);
                    }
                });
            }
        });
    });
}

fn bytes_that_are_there(test: Test) {
    with_one_p_and_several(test, || {
        let (a, mut b) = stream_pair();
        b.write_all(b"xyz").unwrap();
        let (byte, a) = later(a, |mut a| (read_one(&mut a).unwrap(), a)).recv().unwrap();
        assert_eq!(byte, b'x');
        let (byte, a) = later(a, |mut a| (read_one(&mut a).unwrap(), a)).recv().unwrap();
        assert_eq!(byte, b'y');
        let (byte, a) = later(a, |mut a| (read_one(&mut a).unwrap(), a)).recv().unwrap();
        assert_eq!(byte, b'z');
        // No byte is there yet.
        let next = later(a, read_one);
        assert!(next.recv_timeout(20 * MS).is_err());
        b.write_all(b"!").unwrap();
        assert_eq!(next.recv().unwrap().unwrap(), b'!');
    });
}

/// A short read shows that a TCP stream is empty, unless the poller has reported an event since.
fn after_a_short_read(test: Test) {
    with_one_p_and_several(test, || {
        let (mut a, mut b) = tcp_pair();
        for n in 0..100 {
            b.write_all(b"1").unwrap();
            assert_eq!(a.read(&mut [0; 8]).unwrap(), 1);
            if n % 2 == 0 {
                b.write_all(b"2").unwrap();
            }
            let next = later(a, |mut a| (read_one(&mut a).unwrap(), a));
            if n % 2 == 1 {
                b.write_all(b"2").unwrap();
            }
            let (byte, same) = next.recv().unwrap();
            assert_eq!(byte, b'2');
            a = same;
        }
        b.write_all(b"1").unwrap();
        b.shutdown(Shutdown::Write).unwrap();
        assert_eq!(a.read(&mut [0; 8]).unwrap(), 1);
        assert_eq!(later(a, |mut a| a.read(&mut [0])).recv().unwrap().unwrap(), 0);
    });
}

fn the_ends_of_a_stream(test: Test) {
    with_one_p_and_several(test, || {
        for wait in [false, true] {
            let end_of = |stream: TcpStream, end: &dyn Fn()| {
                if !wait {
                    end();
                    let_them_wait();
                }
                let ended = later(stream, |mut stream| stream.read(&mut [0]));
                if wait {
                    let_them_wait();
                    end();
                }
                ended.recv().unwrap()
            };
            let (a, b) = tcp_pair();
            assert_eq!(end_of(a, &|| b.shutdown(Shutdown::Write).unwrap()).unwrap(), 0);
            let (a, b) = tcp_pair();
            to_be_reset(&b);
            let b = std::cell::Cell::new(Some(b));
            assert_eq!(kind(end_of(a, &|| drop(b.take()))), ErrorKind::ConnectionReset);
        }
        let (rx, tx) = pipe_pair();
        let ended = later(rx, |mut rx| rx.read(&mut [0]));
        drop(tx);
        assert_eq!(ended.recv().unwrap().unwrap(), 0);
    });
}

fn a_deadline_and_a_close(test: Test) {
    with_one_p_and_several(test, || {
        let read = |stream: Arc<UnixStream>| read_one(&*stream);
        let new = || {
            let (a, b) = stream_pair();
            (Arc::new(a), b)
        };
        let (a, _b) = new();
        let begin = Instant::now();
        a.set_read_deadline(Some(begin + 30 * MS));
        assert_eq!(kind(later(a.clone(), read).recv().unwrap()), ErrorKind::TimedOut);
        assert!(begin.elapsed() >= 30 * MS);
        // The deadline has passed.
        assert_eq!(kind(later(a.clone(), read).recv().unwrap()), ErrorKind::TimedOut);
        // The deadline passes during the wait.
        a.set_read_deadline(None);
        let next = later(a.clone(), read);
        let_them_wait();
        a.set_read_deadline(Some(begin));
        assert_eq!(kind(next.recv().unwrap()), ErrorKind::TimedOut);

        a.set_read_deadline(Some(Instant::now() + HOUR));
        let next = later(a.clone(), read);
        let_them_wait();
        a.close();
        assert_eq!(kind(next.recv().unwrap()), ErrorKind::BrokenPipe);
        assert_eq!(kind(later(a, read).recv().unwrap()), ErrorKind::BrokenPipe);
    });
}

/// Other goroutines write, and wait in turn to read.
fn others_use_it_meanwhile(test: Test) {
    with_one_p_and_several(test, || {
        let (a, mut b) = stream_pair();
        let a = Arc::new(a);
        // It isn't specified which goroutine reads which byte.
        let (tx, rx) = bounded(3);
        let reads = |tx: Sender<u8>| move |a: Arc<UnixStream>| tx.send(read_one(&*a).unwrap()).unwrap();
        go_when_readable(a.clone(), reads(tx.clone()));
        (&*a).write_all(b"!").unwrap();
        assert_eq!(read_one(&b).unwrap(), b'!');
        let (second, third) = (reads(tx.clone()), reads(tx));
        drop(go({
            let a = a.clone();
            move || second(a)
        }));
        drop(go(move || go_when_readable(a, third)));
        let_them_wait();
        b.write_all(b"x").unwrap();
        assert_eq!(rx.recv(), Ok(b'x'));
        b.write_all(b"yz").unwrap();
        let mut both = [rx.recv().unwrap(), rx.recv().unwrap()];
        both.sort();
        assert_eq!(&both, b"yz");
    });
}

/// All goroutines sleep, or wait outside, and none polls when the call begins.
fn nobody_runs_when_it_begins(test: Test) {
    with_one_p_and_several(test, || {
        let (a, b) = stream_pair();
        let next = blocking(move || {
            let_all_sleep();
            let next = later(a, read_one);
            let_all_sleep();
            b.get_ref().write_all(b"1").unwrap();
            next
        });
        assert_eq!(next.recv().unwrap().unwrap(), b'1');
        let (a, b) = stream_pair();
        let foreign = thread::spawn(move || {
            let_all_sleep();
            let next = later(a, read_one);
            let_all_sleep();
            b.get_ref().write_all(b"2").unwrap();
            assert_eq!(next.recv().unwrap().unwrap(), b'2');
        });
        blocking(|| foreign.join().unwrap());
    });
}

fn let_all_sleep() {
    thread::sleep(30 * MS);
}

/// The goroutine inherits from the caller, even if another goroutine ends the wait.
fn what_is_inherited(test: Test) {
    goroutine_local!(inherit static NAME: RefCell<&'static str> = RefCell::new("nobody"));
    fn named<R>(name: &'static str, f: impl FnOnce() -> R) -> R {
        NAME.with_borrow_mut(|own| *own = name);
        with_labels([("name", name)], f)
    }
    with_one_p_and_several(test, || {
        for wait in [false, true] {
            let (a, mut b) = stream_pair();
            let a = Arc::new(a);
            if !wait {
                b.write_all(b"x").unwrap();
            }
            let names = |_| (NAME.with_borrow(|name| *name), labels().get("name").map(String::from));
            let names = named("caller", || later(a.clone(), names));
            named("closer", || a.close());
            assert_eq!(names.recv(), Ok(("caller", Some("caller".to_string()))));
        }
    });
}

/// The goroutine has the requested name and stack. If the stack can't be had, nothing waits.
fn with_a_builder(test: Test) {
    fn depth(n: u32) -> u32 {
        black_box([n; 1024]);
        if n == 0 { 0 } else { 1 + depth(n - 1) }
    }
    with_one_p_and_several(test, || {
        let large = Builder::new().name("large").stack_size(64 << 20);
        for wait in [false, true] {
            let (a, mut b) = stream_pair();
            let (tx, rx) = bounded(0);
            if !wait {
                b.write_all(b"x").unwrap();
            }
            large
                .go_when_readable(a, move |mut a| {
                    tx.send((read_one(&mut a).unwrap(), depth(2000))).unwrap();
                    tx.send((0, 0)).unwrap();
                })
                .unwrap();
            if wait {
                let_them_wait();
                b.write_all(b"x").unwrap();
            }
            assert_eq!(rx.recv(), Ok((b'x', 2000)));
            wait_until(|| dump_with_detached().contains("\"large\" [chan send"));
            assert_eq!(rx.recv(), Ok((0, 0)));
        }
        let (a, mut b) = stream_pair();
        let too_large = Builder::new().stack_size(2 << 30);
        let error = too_large.go_when_readable(a, |_| unreachable!("it has no stack")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(b.read(&mut [0]).unwrap(), 0);
    });
}

fn it_panics_or_exits(test: Test) {
    let ends = test.process(|| {
        run(|| {
            for end in [|| panic!("as it should"), || goexit()] as [fn(); 2] {
                let (a, mut b) = stream_pair();
                go_when_readable(a, move |_a| end());
                b.write_all(b"x").unwrap();
                // The stream was dropped.
                assert_eq!(b.read(&mut [0]).map_err(|error| error.kind()), Err(ErrorKind::ConnectionReset));
            }
        });
    });
    ends.end().with("exit status: 0").says("as it should");
}

fn what_waits_takes_no_page(test: Test) {
    with_one_p_and_several(test, || {
        limit_descriptors(1024);
        let all_wait = |n| {
            let (mut read, mut peers) = (Vec::new(), Vec::new());
            for _ in 0..n {
                let (a, b) = stream_pair();
                read.push(a);
                peers.push(b);
            }
            let group = Arc::new(WaitGroup::new());
            let (before, goroutines) = (memory::resident(), num_goroutine());
            for a in read {
                let group = group.clone();
                group.add(1);
                go_when_readable(a, move |mut a| {
                    assert_eq!(read_one(&mut a).unwrap(), b'x');
                    group.done();
                });
            }
            let each = memory::resident().saturating_sub(before) / n;
            let begun = num_goroutine() - goroutines;
            for peer in &mut peers {
                peer.write_all(b"x").unwrap();
            }
            group.wait();
            // The last goroutine may still be about to end.
            wait_until(|| num_goroutine() == goroutines);
            (begun, each)
        };
        // The first time, its code also comes into memory. And some goroutines may have begun in
        // vain, for events of streams that were closed after the poller got the events.
        let mut found = Vec::new();
        let none_begins = (0..100).any(|_| {
            found.push(all_wait(400));
            found.last().is_some_and(|&(begun, each)| begun == 0 && each < 2048)
        });
        assert!(none_begins, "goroutines and bytes for each: {found:?}");
    });
}

/// Bytes, an end, a deadline and a close come at the same time. The goroutine begins once.
fn whatever_comes_first(test: Test) {
    with_one_p_and_several(test, || {
        let mut rng = Rng::seeded();
        for _ in 0..300 {
            let (a, ref b) = stream_pair();
            let (ref a, ref began) = (Arc::new(a), Arc::new(AtomicUsize::new(0)));
            scope(|s| {
                for i in 0..5 {
                    let pause = rng.below(4);
                    s.go(move || {
                        (0..pause).for_each(|_| yield_now());
                        match i {
                            0 => drop((&*b).write_all(b"x")),
                            1 => drop(b.shutdown(Shutdown::Both)),
                            2 => a.set_read_deadline(Some(Instant::now())),
                            3 => a.close(),
                            _ => {
                                let began = began.clone();
                                let read = |a: Arc<UnixStream>| read_one(&*a);
                                let ended = later(a.clone(), move |a| {
                                    began.fetch_add(1, Ordering::Relaxed);
                                    read(a)
                                });
                                let _any = ended.recv().unwrap();
                            }
                        }
                    });
                }
            });
            assert_eq!(began.load(Ordering::Relaxed), 1);
        }
    });
}

/// Sysmon polls while this goroutine computes, on a small stack.
fn more_than_the_poller_has_room_for(test: Test) {
    let process = test.process(|| {
        run(|| {
            let (a, mut b) = stream_pair();
            let many = [7_u8; 300_000];
            let sum = later(a, move |_| many.iter().map(|&byte| u64::from(byte)).sum::<u64>());
            b.write_all(b"x").unwrap();
            let mut got = sum.try_recv();
            while got.is_err() {
                got = sum.try_recv();
            }
            assert_eq!(got, Ok(7 * 300_000));
        });
    });
    process.env("GOMAXPROCS", "1").env("GOSCHED_STACK_SIZE", "16777216").end().with("exit status: 0");
}
