//! [`Pollable`]: what a wait can wait for and how long, and what ends it.

use std::fs::File;
use std::io::{ErrorKind, IoSliceMut, PipeReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gosched::context::Context;
use gosched::net::{Pollable, TcpStream, UnixStream as OurUnixStream};
use gosched::time::{sleep, sleep_until};
use gosched::{blocking, go, scope};

use crate::harness::panics::panics;
use crate::harness::polled::*;
use crate::harness::rng::Rng;
use crate::harness::sockets::{listen, tcp_pair};
use crate::harness::{Test, tests};

tests! {
    readable_and_writable
    deadlines_that_have_passed
    a_deadline_is_moved_while_somebody_waits
    deadlines_race_with_data
    a_timeout_is_for_each_operation
    a_timeout_is_for_all_of_an_operations_waits
    close_wakes_who_waits
    descriptors_are_used_again
    what_cannot_be_polled
    where_nothing_can_wait
    a_read_of_nothing_waits_for_nothing
    a_read_of_what_there_is
}

fn readable_and_writable(test: Test) {
    with_one_p_and_several(test, || {
        let (a, b) = UnixDatagram::pair().unwrap();
        let (a, b) = (Pollable::new(a).unwrap(), Pollable::new(b).unwrap());
        a.writable().unwrap();
        scope(|s| {
            let reader = s.go(|| {
                b.readable().unwrap();
                b.readable().unwrap();
                let mut buf = [0; 9];
                b.get_ref().recv(&mut buf).unwrap()
            });
            let_them_wait();
            a.get_ref().send(b"datagram").unwrap();
            assert_eq!(reader.join().unwrap(), 8);
        });
        while a.get_ref().send(b"x").is_ok() {}
        a.set_write_deadline(Some(Instant::now()));
        assert_eq!(kind(a.writable()), ErrorKind::TimedOut);
        a.set_write_deadline(None);
        scope(|s| {
            let writer = s.go(|| a.writable());
            let_them_wait();
            while b.get_ref().recv(&mut [0; 9]).is_ok() {}
            writer.join().unwrap().unwrap();
        });
        let fd = b.as_fd().as_raw_fd();
        assert_eq!(b.into_inner().as_raw_fd(), fd);
    });
}

fn deadlines_that_have_passed(test: Test) {
    with_one_p_and_several(test, || {
        let (a, mut b) = stream_pair();
        b.write_all(b"abc").unwrap();
        for deadline in [Instant::now(), Instant::now() - MS] {
            a.set_read_deadline(Some(deadline));
            // It times out although there is something to read, as in Go.
            assert_eq!(kind(read_one(&a)), ErrorKind::TimedOut);
            assert_eq!(kind(a.readable()), ErrorKind::TimedOut);
        }
        (&a).write_all(b"x").unwrap();
        a.set_write_deadline(Some(Instant::now()));
        assert_eq!(kind((&a).write(b"x")), ErrorKind::TimedOut);
        a.set_read_deadline(Some(Instant::now() + HOUR));
        assert_eq!(read_one(&a).unwrap(), b'a');
        a.set_read_deadline(None);
        assert_eq!(read_one(&a).unwrap(), b'b');
        assert_eq!(kind((&a).write(b"x")), ErrorKind::TimedOut);

        let begin = Instant::now();
        let (c, _d) = stream_pair();
        c.set_read_deadline(Some(begin + 5 * MS));
        c.set_write_deadline(Some(begin + 5 * MS));
        assert_eq!(kind(read_one(&c)), ErrorKind::TimedOut);
        assert!(begin.elapsed() >= 5 * MS);
        // The write is so large that it waits: its deadline may be set later than the reader's.
        assert_eq!(kind((&c).write_all(&vec![0; 1 << 22])), ErrorKind::TimedOut);
    });
}

fn a_deadline_is_moved_while_somebody_waits(test: Test) {
    with_one_p_and_several(test, || {
        let (a, b) = stream_pair();
        scope(|s| {
            // Moves the deadline to the past, from none and from a later time; then to an earlier
            // time.
            for before in [None, Some(HOUR)] {
                for after in [Duration::ZERO, 2 * MS] {
                    a.set_read_deadline(before.map(|before| Instant::now() + before));
                    let reader = s.go(|| read_one(&a));
                    let_them_wait();
                    a.set_read_deadline(Some(Instant::now() + after));
                    assert_eq!(kind(reader.join().unwrap()), ErrorKind::TimedOut);
                }
            }
            // Moves the deadline to a later time, and removes it.
            for after in [None, Some(HOUR)] {
                // Tries once more, with more time, if the deadline has come before it was moved.
                for time in (1..).map(|i| 100 * i * MS) {
                    let first = Instant::now() + time;
                    a.set_read_deadline(Some(first));
                    let reader = s.go(|| read_one(&a));
                    let_them_wait();
                    a.set_read_deadline(after.map(|after| Instant::now() + after));
                    let in_time = Instant::now() < first;
                    sleep_until(first + 50 * MS);
                    (&b).write_all(b"z").unwrap();
                    let read = reader.join().unwrap();
                    while a.get_ref().read_one_now() {}
                    if in_time {
                        assert_eq!(read.unwrap(), b'z');
                        break;
                    }
                }
            }
        });
    });
}

trait ReadOneNow {
    fn read_one_now(&self) -> bool;
}

impl ReadOneNow for UnixStream {
    /// Takes the byte that is left there.
    fn read_one_now(&self) -> bool {
        let mut this = self;
        this.read(&mut [0]).is_ok_and(|n| n == 1)
    }
}

/// Nothing is lost, whichever comes first.
fn deadlines_race_with_data(test: Test) {
    with_one_p_and_several(test, || {
        let mut rng = Rng::seeded();
        scope(|s| {
            for _ in 0..20 {
                let (mut sent, mut when) = (rng.fork(), rng.fork());
                let (a, b) = stream_pair();
                s.go(move || {
                    for i in 0..300_u32 {
                        sleep(Duration::from_micros(sent.below(400) as u64));
                        (&b).write_all(&i.to_ne_bytes()).unwrap();
                    }
                });
                s.go(move || {
                    let mut next = 0_u32;
                    while next < 300 {
                        a.set_read_deadline(Some(
                            Instant::now() + Duration::from_micros(when.below(400) as u64),
                        ));
                        let mut buf = [0; 4];
                        match (&a).read(&mut buf) {
                            Ok(n) => {
                                assert_eq!((n, u32::from_ne_bytes(buf)), (4, next));
                                next += 1;
                            }
                            Err(error) => assert_eq!(error.kind(), ErrorKind::TimedOut),
                        }
                    }
                });
            }
        });
    });
}

fn a_timeout_is_for_each_operation(test: Test) {
    with_one_p_and_several(test, || {
        let (a, b) = stream_pair();
        assert_eq!(kind(a.set_read_timeout(Some(Duration::ZERO))), ErrorKind::InvalidInput);
        a.set_read_timeout(Some(3 * MS)).unwrap();
        assert_eq!(a.read_timeout().unwrap(), Some(3 * MS));
        for _ in 0..3 {
            let begin = Instant::now();
            assert_eq!(kind(read_one(&a)), ErrorKind::TimedOut);
            assert!(begin.elapsed() >= 3 * MS);
        }
        (&b).write_all(b"x").unwrap();
        assert_eq!(read_one(&a).unwrap(), b'x');
        a.set_read_timeout(Some(HOUR)).unwrap();
        a.set_read_deadline(Some(Instant::now() + 3 * MS));
        assert_eq!(kind(read_one(&a)), ErrorKind::TimedOut);
        a.set_read_deadline(None);
        a.set_read_timeout(None).unwrap();
        a.set_write_timeout(Some(3 * MS)).unwrap();
        assert_eq!((a.read_timeout().unwrap(), a.write_timeout().unwrap()), (None, Some(3 * MS)));
        assert_eq!(kind((&a).write_all(&vec![0; 1 << 22])), ErrorKind::TimedOut);
    });
}

/// The wait has one timeout, however often it is woken in vain, on a goroutine and on a thread. The
/// timeout is only for that operation, even if it panics.
fn a_timeout_is_for_all_of_an_operations_waits(test: Test) {
    with_one_p_and_several(test, || {
        let (a, b) = stream_pair();
        let never = || a.read_with(|_| Err::<(), _>(ErrorKind::WouldBlock.into()));
        a.set_read_timeout(Some(30 * MS)).unwrap();
        let over = AtomicBool::new(false);
        scope(|s| {
            s.go(|| {
                while !over.load(Ordering::Relaxed) {
                    while a.get_ref().read_one_now() {}
                    (&b).write_all(b"x").unwrap();
                    sleep(MS);
                }
            });
            assert_eq!(kind(never()), ErrorKind::TimedOut);
            blocking(|| {
                thread::scope(|s| assert_eq!(kind(s.spawn(never).join().unwrap()), ErrorKind::TimedOut))
            });
            let third = || {
                let mut tries = 0;
                let read = a.read_with(|_| {
                    tries += 1;
                    assert!(tries < 3, "the third");
                    Err::<(), _>(ErrorKind::WouldBlock.into())
                });
                // The read may be held up until its time is over.
                assert_eq!(kind(read), ErrorKind::TimedOut);
            };
            assert_eq!(
                panics(|| loop {
                    third()
                }),
                "the third"
            );
            over.store(true, Ordering::Relaxed);
        });
        sleep(40 * MS);
        (&b).write_all(b"y").unwrap();
        while read_one(&a).unwrap() != b'y' {}
    });
}

fn close_wakes_who_waits(test: Test) {
    with_one_p_and_several(test, || {
        let (a, b) = stream_pair();
        while a.get_ref().write_all(&[0; 4096]).is_ok() {}
        let a = Arc::new(a);
        let waiting: Vec<_> = (0..6)
            .map(|i| {
                let a = a.clone();
                go(move || if i % 2 == 0 { read_one(&*a).map(drop) } else { (&*a).write_all(&[1]) })
            })
            .collect();
        let_them_wait();
        a.close();
        a.close();
        for waiting in waiting {
            let error = waiting.join().unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BrokenPipe);
            assert_eq!(error.to_string(), "use of a closed descriptor");
        }
        assert_eq!(kind(a.readable()), ErrorKind::BrokenPipe);
        a.set_read_deadline(Some(Instant::now()));
        assert_eq!(kind(read_one(&*a)), ErrorKind::BrokenPipe);
        // The descriptor stays open until nobody has it.
        drop(a);
        let mut all = Vec::new();
        assert!((&b).read_to_end(&mut all).is_ok() && !all.is_empty());
    });
}

/// A descriptor that was closed a moment ago leaves its number, and the poller's data for it, to a
/// new one.
fn descriptors_are_used_again(test: Test) {
    with_one_p_and_several(test, || {
        scope(|s| {
            for _ in 0..8 {
                s.go(|| {
                    for i in 0..300_u32 {
                        let (a, b) = stream_pair();
                        // Each wait may end in three ways: data, a deadline, a close.
                        let (a, b) = (Arc::new(a), b);
                        if i % 3 == 1 {
                            a.set_read_deadline(Some(Instant::now() + Duration::from_micros(50)));
                        }
                        let reader = {
                            let a = a.clone();
                            go(move || read_one(&*a))
                        };
                        match i % 3 {
                            0 => (&b).write_all(&[i as u8]).unwrap(),
                            1 => {}
                            _ => a.close(),
                        }
                        let read = reader.join().unwrap();
                        match i % 3 {
                            0 => assert_eq!(read.unwrap(), i as u8),
                            1 => assert_eq!(kind(read), ErrorKind::TimedOut),
                            _ => assert_eq!(kind(read), ErrorKind::BrokenPipe),
                        }
                    }
                });
            }
        });
    });
}

fn what_cannot_be_polled(test: Test) {
    with_one_p_and_several(test, || {
        for path in ["/proc/self/exe", "/"] {
            let error = Pollable::new(File::open(path).unwrap()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{path}");
            assert!(error.to_string().contains("gosched::blocking"), "{error}");
        }
        let (a, _b) = UnixStream::pair().unwrap();
        let registered = Pollable::new(a.as_fd()).unwrap();
        assert_eq!(kind(Pollable::new(a.as_fd())), ErrorKind::AlreadyExists);
        drop(registered);
        drop(Pollable::new(a.as_fd()).unwrap());
    });
}

fn where_nothing_can_wait(test: Test) {
    with_one_p_and_several(test, || {
        let (a, b) = stream_pair();
        let expected = |what: &str| {
            format!(
                "gosched: {what} would have to wait, which nothing can inside gosched::blocking: do it outside"
            )
        };
        assert_eq!(blocking(|| panics(|| read_one(&a))), expected("a read"));
        let (listener, _) = listen();
        assert_eq!(blocking(|| panics(|| listener.accept())), expected("an accept"));
        drop(listener);
        assert_eq!(blocking(|| panics(|| a.set_read_deadline(None))), expected("set_read_deadline"));
        (&b).write_all(b"x").unwrap();
        assert_eq!(blocking(|| read_one(&a)).unwrap(), b'x');
    });
}

/// Reads nothing from `from`, in each way.
fn reads_nothing<T>(from: &Pollable<T>)
where
    for<'a> &'a T: Read,
{
    let (ctx, _cancel) = Context::background().with_cancel();
    let none = &mut [IoSliceMut::new(&mut []), IoSliceMut::new(&mut [])];
    assert_eq!((&*from).read(&mut []).unwrap(), 0);
    assert_eq!((&*from).read_vectored(none).unwrap(), 0);
    assert_eq!(ctx.with(from).read(&mut []).unwrap(), 0);
    assert_eq!(ctx.with(from).read_vectored(none).unwrap(), 0);
}

/// Reads nothing from `from` before, between and behind the data that are written to `to`, and
/// after the close.
fn reads_nothing_anywhere<T, W>((mut from, mut to): (Pollable<T>, Pollable<W>))
where
    T: Read,
    for<'a> &'a T: Read,
    W: Write,
{
    // A read that would wait fails.
    from.set_read_timeout(Some(MS)).unwrap();
    reads_nothing::<T>(&from);
    for text in [b"one", b"two"] {
        to.write_all(text).unwrap();
        from.set_read_timeout(None).unwrap();
        let mut buf = [0; 16];
        let mut n = 0;
        while n < text.len() {
            n += from.read(&mut buf[n..]).unwrap();
        }
        assert_eq!(&buf[..n], text);
        from.set_read_timeout(Some(MS)).unwrap();
        reads_nothing::<T>(&from);
        assert_eq!(from.read(&mut []).unwrap(), 0);
        assert_eq!(kind(from.read(&mut buf)), ErrorKind::TimedOut);
    }
    drop(to);
    reads_nothing::<T>(&from);
    from.close();
    assert_eq!(kind(from.read(&mut [])), ErrorKind::BrokenPipe);
}

fn a_read_of_nothing_waits_for_nothing(test: Test) {
    with_one_p_and_several(test, || {
        reads_nothing_anywhere::<PipeReader, _>(pipe_pair());
        reads_nothing_anywhere::<UnixStream, _>(stream_pair());
        reads_nothing_anywhere::<std::net::TcpStream, _>(tcp_pair());

        let (here, mut there): (TcpStream, TcpStream) = tcp_pair();
        here.set_read_timeout(Some(MS)).unwrap();
        assert_eq!(here.peek(&mut []).unwrap(), 0);
        here.set_read_timeout(None).unwrap();
        there.write_all(b"!").unwrap();
        here.readable().unwrap();
        assert_eq!(here.peek(&mut []).unwrap(), 0);
        assert_eq!(read_one(&here).unwrap(), b'!');
        here.close();
        assert_eq!(kind(here.peek(&mut [])), ErrorKind::BrokenPipe);

        let (here, _there) = OurUnixStream::pair().unwrap();
        scope(|s| {
            let reader = s.go(|| read_one(&here));
            let_them_wait();
            // Its turn comes when the other goroutine has read, or given up.
            let nothing = s.go(|| (&here).read(&mut []));
            let_them_wait();
            here.close();
            assert_eq!(kind(reader.join().unwrap()), ErrorKind::BrokenPipe);
            assert_eq!(kind(nothing.join().unwrap()), ErrorKind::BrokenPipe);
        });
    });
}

/// It notes whether it has taken all bytes, and the wait for the next ones isn't in vain.
fn a_read_of_what_there_is(test: Test) {
    with_one_p_and_several(test, || {
        let (mut a, mut b) = tcp_pair();
        let mut buf = [0; 8];
        assert_eq!(kind(a.try_read(&mut buf)), ErrorKind::WouldBlock);
        assert_eq!(a.try_read(&mut []).unwrap(), 0);
        for n in 0..100 {
            // The next byte is there already, comes later, or comes meanwhile.
            b.write_all(if n % 3 == 0 { b"one!" } else { b"one" }).unwrap();
            a.readable().unwrap();
            if n < 3 {
                // The poller has reported the bytes, and doesn't report them again.
                let_them_wait();
            }
            assert_eq!(a.try_read(&mut buf[..if n % 3 == 1 { 8 } else { 3 }]).unwrap(), 3);
            match n % 3 {
                0 => {}
                1 => b.write_all(b"!").unwrap(),
                _ => {
                    let b = b.try_clone().unwrap();
                    go(move || (&b).write_all(b"!").unwrap());
                }
            }
            assert_eq!(read_one(&mut a).unwrap(), b'!');
        }
        a.set_read_deadline(Some(Instant::now()));
        assert_eq!(kind(a.try_read(&mut buf)), ErrorKind::TimedOut);
        a.set_read_deadline(None);
        drop(b);
        a.readable().unwrap();
        assert_eq!(a.try_read(&mut buf).unwrap(), 0);
        a.close();
        assert_eq!(kind(a.try_read(&mut buf)), ErrorKind::BrokenPipe);
    });
}
