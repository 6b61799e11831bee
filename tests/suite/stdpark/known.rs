//! Connections on which goroutines have waited often: a wait makes no more queries, but still heeds
//! what the program sets.

use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::process::Command;
use std::sync::Arc;
use std::{iter, ptr, thread};

use gosched::explore::explore;
use gosched::go;
use gosched::net::Pollable;

use crate::harness::goroutines::go_until_it_waits;
use crate::harness::polled::{MS, kind, read_one};
use crate::harness::{Test, tests};
use crate::stdpark::descriptors::*;
use crate::stdpark::live_with_one_p_and_several;

tests! {
    a_known_connection_is_not_asked
    a_connection_with_a_duplicate_is_asked
    a_duplicate_from_before
    a_duplicate_from_before_waits_park
    a_duplicate_of_what_the_poller_had
    non_blocking_mode
    non_blocking_mode_of_a_duplicate
    times
    a_change_that_nobody_sees
    a_change_that_nobody_sees_beside_a_busy_reader
    a_change_by_a_child
    long_talks
    both_directions_at_once
    five_readers_of_a_known_connection
    two_readers_beside_a_writer
    a_poll_beside_a_reader
    many_buffers
    a_buffer_that_is_not_there
    a_call_in_progress_goes_on_as_it_began
    ends_of_waits
    closes_of_the_number
    a_number_that_is_used_again
    a_number_that_nobody_saw_closed
    the_poller_takes_it
    an_exploration_refuses_it
}

const LARGE: usize = 4 << 20;

/// Returns two connected sockets: one that has connected, and one that was accepted.
fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let a = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (a, listener.accept().unwrap().0)
}

/// Makes goroutines wait for data from `a`, until the socket of `b` is known.
fn become_known(a: &mut TcpStream, b: TcpStream) -> TcpStream {
    (0..3).fold(b, |mut b, _| {
        let waits = go_until_it_waits(move || {
            read_one(&b).unwrap();
            b
        });
        a.write_all(b"1").unwrap();
        b = waits.join().unwrap();
        b
    })
}

/// Returns a connection whose second socket is known.
fn known_pair() -> (TcpStream, TcpStream) {
    let (mut a, b) = pair();
    let b = become_known(&mut a, b);
    (a, b)
}

/// Sets non-blocking mode by a call that the runtime doesn't see.
fn set_unseen(socket: &impl AsRawFd) {
    // SAFETY: no memory is passed.
    let ret = unsafe { libc::syscall(libc::SYS_fcntl, socket.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    assert_eq!(ret, 0);
    assert!(is_nonblocking(socket));
}

/// Returns whether a read waits although the socket is in non-blocking mode.
fn is_known(a: &mut TcpStream, b: TcpStream) -> bool {
    set_unseen(&b);
    let reader = go_until_it_waits(move || recv(&b, 1, 0));
    let waits = !reader.is_finished();
    if waits {
        a.write_all(b"1").unwrap();
    }
    assert_eq!(reader.join().unwrap(), if waits { Ok(1) } else { Err(libc::EAGAIN) });
    waits
}

/// Runs `main` in a process where no wait begins anew: a change that isn't seen is never heeded.
fn without_a_watch(test: Test, main: impl FnOnce() + Send) {
    test.process(|| live(main)).env("GODEBUG", "period=100000").end().with("exit status: 0");
}

fn a_known_connection_is_not_asked(test: Test) {
    without_a_watch(test, || {
        let (mut a, b) = known_pair();
        assert!(is_known(&mut a, b));
        let (b, mut a) = pair();
        let b = become_known(&mut a, b);
        assert!(is_known(&mut a, b), "the one that has connected");
        let (mut a, b) = pair();
        assert!(!is_known(&mut a, b), "too early");
    });
}

fn a_connection_with_a_duplicate_is_asked(test: Test) {
    without_a_watch(test, || {
        let duplicates: [fn(RawFd) -> RawFd; 4] = [
            // SAFETY: no memory is passed.
            |fd| unsafe { libc::dup(fd) },
            // SAFETY: no memory is passed.
            |fd| unsafe { libc::fcntl(fd, libc::F_DUPFD, 0) },
            // SAFETY: no memory is passed.
            |fd| unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) },
            // SAFETY: no memory is passed. The number is this test's.
            |fd| unsafe { libc::dup2(fd, 200) },
        ];
        for (i, duplicate) in duplicates.into_iter().enumerate() {
            let (mut a, b) = known_pair();
            // SAFETY: the number is new.
            let other = unsafe { OwnedFd::from_raw_fd(duplicate(b.as_raw_fd())) };
            assert!(!is_known(&mut a, b));
            let b = TcpStream::from(other);
            b.set_nonblocking(false).unwrap();
            let b = become_known(&mut a, b);
            assert!(!is_known(&mut a, b), "duplicate {i}");
        }
    });
}

/// The socket has a duplicate before it is connected.
fn a_duplicate_from_before(test: Test) {
    without_a_watch(test, || {
        for connects_the_duplicate in [false, true] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let addr = libc::sockaddr_in {
                sin_family: libc::AF_INET as _,
                sin_port: listener.local_addr().unwrap().port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([127, 0, 0, 1]) },
                sin_zero: [0; 8],
            };
            // SAFETY: no memory is passed but the address, which the kernel reads; the numbers are
            // new.
            let (b, other) = unsafe {
                let fd = libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0);
                let fds = [fd, libc::dup(fd)];
                let (addr, len) = ((&raw const addr).cast(), size_of_val(&addr) as u32);
                assert_eq!(libc::connect(fds[usize::from(connects_the_duplicate)], addr, len), 0);
                fds.map(|fd| TcpStream::from_raw_fd(fd)).into()
            };
            let mut a = listener.accept().unwrap().0;
            let b = become_known(&mut a, b);
            assert!(!is_known(&mut a, b));
            other.set_nonblocking(false).unwrap();
            let other = become_known(&mut a, other);
            assert!(!is_known(&mut a, other));
        }
    });
}

/// The runtime couldn't see the duplicate.
fn a_duplicate_from_before_waits_park(test: Test) {
    let process = test.process(|| {
        let (mut a, b) = pair();
        let other = b.try_clone().unwrap();
        live(|| {
            let b = become_known(&mut a, b);
            other.set_nonblocking(true).unwrap();
            assert_eq!(kind(read_one(&b)), ErrorKind::WouldBlock);
        });
    });
    process.env("GODEBUG", "period=100000").env("GOSCHED_STD", "0").end().with("exit status: 0");
}

fn a_duplicate_of_what_the_poller_had(test: Test) {
    without_a_watch(test, || {
        let (mut a, b) = known_pair();
        let polled = Pollable::new(b).unwrap();
        let other = polled.get_ref().try_clone().unwrap();
        let b = polled.into_inner();
        b.set_nonblocking(false).unwrap();
        let b = become_known(&mut a, b);
        other.set_nonblocking(true).unwrap();
        assert_eq!(kind(read_one(&b)), ErrorKind::WouldBlock);
    });
}

fn non_blocking_mode(test: Test) {
    without_a_watch(test, || {
        let ways: [fn(&TcpStream); 2] = [
            |b| b.set_nonblocking(true).unwrap(),
            // SAFETY: no memory is passed.
            |b| assert_eq!(unsafe { libc::fcntl(b.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) }, 0),
        ];
        for set in ways {
            let (mut a, mut b) = known_pair();
            set(&b);
            assert_eq!(kind(b.read(&mut [0])), ErrorKind::WouldBlock);
            a.write_all(b"2").unwrap();
            b.set_nonblocking(false).unwrap();
            assert_eq!(read_one(&b).unwrap(), b'2');
            let b = become_known(&mut a, b);
            set(&b);
            assert_eq!(kind(read_one(&b)), ErrorKind::WouldBlock);
        }
    });
}

fn non_blocking_mode_of_a_duplicate(test: Test) {
    without_a_watch(test, || {
        let (_a, b) = known_pair();
        let other = b.try_clone().unwrap();
        other.set_nonblocking(true).unwrap();
        assert_eq!(kind(read_one(&b)), ErrorKind::WouldBlock);
        drop(b);
        assert_eq!(kind(read_one(&other)), ErrorKind::WouldBlock);
    });
}

/// Writes until a write fails.
fn fill(mut to: &TcpStream) -> io::Result<()> {
    loop {
        to.write_all(&[0; 1 << 16])?;
    }
}

fn times(test: Test) {
    without_a_watch(test, || {
        let (mut a, b) = known_pair();
        b.set_read_timeout(Some(MS)).unwrap();
        assert_eq!(kind(read_one(&b)), ErrorKind::WouldBlock);
        b.set_read_timeout(None).unwrap();
        let mut b = become_known(&mut a, b);
        // A timeout for writes isn't one for reads.
        b.set_write_timeout(Some(MS)).unwrap();
        let reader = go_until_it_waits(move || {
            read_one(&b).unwrap();
            b
        });
        a.write_all(b"1").unwrap();
        b = reader.join().unwrap();
        assert_eq!(kind(fill(&b)), ErrorKind::WouldBlock);
        // The timeout was set before the reads have asked for it.
        let (mut a, b) = pair();
        b.set_write_timeout(Some(MS)).unwrap();
        let b = become_known(&mut a, b);
        assert_eq!(kind(fill(&b)), ErrorKind::WouldBlock);
    });
}

fn a_change_that_nobody_sees(test: Test) {
    let process = test.process(|| {
        live(|| {
            let (_a, b) = known_pair();
            set_unseen(&b);
            assert_eq!(kind(read_one(&b)), ErrorKind::WouldBlock);
        });
    });
    process.env("GODEBUG", "period=5").end().with("exit status: 0");
}

/// A writer has waited for long, though a reader begins to wait again and again.
fn a_change_that_nobody_sees_beside_a_busy_reader(test: Test) {
    let process = test.process(|| {
        live(|| {
            let (a, b) = known_pair();
            let b = Arc::new(b);
            let reads = b.clone();
            let reader = go(move || while recv(&*reads, 1, 0) == Ok(1) {});
            let sender = go(move || {
                while (&a).write_all(b"1").is_ok() {
                    thread::sleep(MS)
                }
            });
            set_unseen(&*b);
            // At some point the socket is full, and the send waits.
            assert!(send(&*b, 64 * LARGE, 0).unwrap() < 64 * LARGE);
            b.shutdown(Shutdown::Both).unwrap();
            reader.join().unwrap();
            sender.join().unwrap();
        });
    });
    process.env("GODEBUG", "period=5").end().with("exit status: 0");
}

fn a_change_by_a_child(test: Test) {
    let process = test.process(|| {
        live(|| {
            let (_a, b) = known_pair();
            let child = b.as_raw_fd();
            // SAFETY: no memory is passed.
            unsafe { libc::syscall(libc::SYS_fcntl, child, libc::F_SETFD, 0) };
            let code = format!("import fcntl, os; fcntl.fcntl({child}, fcntl.F_SETFL, os.O_NONBLOCK)");
            if !Command::new("python3").args(["-c", &code]).status().is_ok_and(|status| status.success()) {
                return;
            }
            assert!(is_nonblocking(&b));
            assert_eq!(kind(read_one(&b)), ErrorKind::WouldBlock);
        });
    });
    process.env("GODEBUG", "period=5").end().with("exit status: 0");
}

fn long_talks(test: Test) {
    const N: usize = 40;
    const ROUNDS: u32 = 200;
    live_with_one_p_and_several(test, || {
        let talks: Vec<_> = (0..N)
            .map(|_| {
                go(|| {
                    let (mut a, mut b) = pair();
                    let echo = go(move || {
                        let mut buf = [0; 4];
                        while b.read_exact(&mut buf).is_ok() {
                            b.write_all(&buf).unwrap();
                        }
                    });
                    for round in 0..ROUNDS {
                        a.write_all(&round.to_le_bytes()).unwrap();
                        let mut heard = [0; 4];
                        a.read_exact(&mut heard).unwrap();
                        assert_eq!(u32::from_le_bytes(heard), round);
                    }
                    drop(a);
                    echo.join().unwrap();
                })
            })
            .collect();
        talks.into_iter().for_each(|talk| talk.join().unwrap());
    });
}

/// Each side sends more than there is room for, and reads the other's data.
fn both_directions_at_once(test: Test) {
    live_with_one_p_and_several(test, || {
        let (a, b) = known_pair();
        let sides: Vec<_> = [a, b]
            .into_iter()
            .map(|side| {
                let side = Arc::new(side);
                let writes = side.clone();
                let writer = go(move || (&*writes).write_all(&[7; LARGE]).unwrap());
                go(move || {
                    let mut heard = vec![0; LARGE];
                    (&*side).read_exact(&mut heard).unwrap();
                    assert!(heard.iter().all(|&byte| byte == 7));
                    writer.join().unwrap();
                })
            })
            .collect();
        sides.into_iter().for_each(|side| side.join().unwrap());
    });
}

fn five_readers_of_a_known_connection(test: Test) {
    without_a_watch(test, || {
        let (mut a, b) = known_pair();
        let b = Arc::new(b);
        for _ in 0..3 {
            let readers: Vec<_> = (0..5)
                .map(|_| {
                    let b = b.clone();
                    go_until_it_waits(move || recv(&*b, 1, 0))
                })
                .collect();
            a.write_all(b"12345").unwrap();
            let heard: Vec<_> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
            assert_eq!(heard, [Ok(1); 5]);
        }
    });
}

/// Others wait for the same data when a writer's wait might make the socket known.
fn two_readers_beside_a_writer(test: Test) {
    without_a_watch(test, || {
        let (mut a, b) = pair();
        let b = Arc::new(b);
        let readers = [(); 2].map(|()| {
            let b = b.clone();
            go_until_it_waits(move || recv(&*b, 1, 0))
        });
        for _ in 0..3 {
            let writes = b.clone();
            let writer = go_until_it_waits(move || send(&*writes, LARGE, 0));
            a.read_exact(&mut vec![0; LARGE]).unwrap();
            assert_eq!(writer.join().unwrap(), Ok(LARGE));
        }
        a.write_all(b"12").unwrap();
        assert_eq!(readers.map(|reader| reader.join().unwrap()), [Ok(1); 2]);
    });
}

/// A part of the buffers is sent at once, and the rest when there is room.
fn many_buffers(test: Test) {
    without_a_watch(test, || {
        let (mut a, mut b) = known_pair();
        let reader = go(move || a.read_exact(&mut vec![0; LARGE + 40_000]));
        let buffers: Vec<_> = iter::once(vec![0; LARGE]).chain(iter::repeat_n(vec![0; 100], 400)).collect();
        let buffers: Vec<_> = buffers.iter().map(|buffer| IoSlice::new(buffer)).collect();
        assert_eq!(b.write_vectored(&buffers).unwrap(), LARGE + 40_000);
        reader.join().unwrap().unwrap();
    });
}

/// A send ends before memory that isn't mapped, and doesn't wait for room.
fn a_buffer_that_is_not_there(test: Test) {
    if test.skipped_in_emulator("it looks at the whole buffer first") {
        return;
    }
    without_a_watch(test, || {
        let (_a, b) = known_pair();
        // SAFETY: a new mapping, a part of which is unmapped again.
        let sent = unsafe {
            let (len, access) = (8 << 16, libc::PROT_READ | libc::PROT_WRITE);
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let bytes = libc::mmap(ptr::null_mut(), len, access, flags, -1, 0);
            assert_eq!(libc::munmap(bytes.byte_add(1 << 16), len - (1 << 16)), 0);
            libc::send(b.as_raw_fd(), bytes, 2 << 16, 0)
        };
        assert_eq!(sent, 1 << 16);
    });
}

/// A mode and a timeout that are set meanwhile apply to the next call.
fn a_call_in_progress_goes_on_as_it_began(test: Test) {
    without_a_watch(test, || {
        let changes: [fn(&TcpStream); 2] =
            [|b| b.set_nonblocking(true).unwrap(), |b| b.set_write_timeout(Some(MS)).unwrap()];
        for change in changes {
            let (mut a, b) = known_pair();
            let b = Arc::new(b);
            let writes = b.clone();
            let writer = go_until_it_waits(move || send(&*writes, 4 * LARGE, 0));
            change(&b);
            // The call's wait ends and begins again.
            for _ in 0..4 {
                a.read_exact(&mut vec![0; LARGE]).unwrap();
                thread::sleep(5 * MS);
            }
            assert_eq!(writer.join().unwrap(), Ok(4 * LARGE));
        }
    });
}

fn a_poll_beside_a_reader(test: Test) {
    without_a_watch(test, || {
        let (mut a, b) = known_pair();
        let b = Arc::new(b);
        let reads = b.clone();
        let reader = go_until_it_waits(move || read_one(&*reads).unwrap());
        let polls = b.clone();
        let poll = go_until_it_waits(move || {
            let mut one = libc::pollfd { fd: polls.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: the kernel writes to the one struct.
            unsafe { libc::poll(&mut one, 1, -1) }
        });
        a.write_all(b"12").unwrap();
        assert_eq!(reader.join().unwrap(), b'1');
        assert_eq!(poll.join().unwrap(), 1);
        assert_eq!(read_one(&*b).unwrap(), b'2');
    });
}

/// Ends a connection.
type End = fn(TcpStream, &TcpStream);

fn ends_of_waits(test: Test) {
    without_a_watch(test, || {
        let ends: [(End, Result<usize, i32>); 4] = [
            (|a, _| drop(a), Ok(0)),
            (|a, _| a.shutdown(Shutdown::Write).unwrap(), Ok(0)),
            (|_, b| b.shutdown(Shutdown::Read).unwrap(), Ok(0)),
            // The data of `b` weren't read, so the other side is reset.
            (
                |a, mut b| {
                    b.write_all(b"x").unwrap();
                    drop(a);
                },
                Err(libc::ECONNRESET),
            ),
        ];
        for (end, expected) in ends {
            let (a, b) = known_pair();
            let b = Arc::new(b);
            let reads = b.clone();
            let reader = go_until_it_waits(move || recv(&*reads, 1, 0));
            end(a, &b);
            assert_eq!(reader.join().unwrap(), expected);
        }
    });
}

fn closes_of_the_number(test: Test) {
    without_a_watch(test, || {
        let closes: [fn(RawFd); 3] = [
            // SAFETY: the number is this test's, and isn't closed again.
            |fd| assert_eq!(unsafe { libc::close(fd) }, 0),
            // SAFETY: as above.
            |fd| assert_eq!(unsafe { libc::close_range(fd as u32, fd as u32, 0) }, 0),
            |fd| {
                let (a, _b) = pair();
                // SAFETY: as above.
                assert_eq!(unsafe { libc::dup2(a.as_raw_fd(), fd) }, fd);
                // SAFETY: as above.
                assert_eq!(unsafe { libc::close(fd) }, 0);
            },
        ];
        for close in closes {
            let lower = File::open("/dev/null").unwrap();
            let (_a, b) = known_pair();
            let fd = b.into_raw_fd();
            let reader = go_until_it_waits(move || recv(&fd, 1, 0));
            // A file that the monitor opens takes this number, and not the closed one.
            drop(lower);
            close(fd);
            assert_eq!(reader.join().unwrap(), Err(libc::EBADF));
        }
    });
}

/// The next connection with this number isn't known, nor is a file of another kind.
fn a_number_that_is_used_again(test: Test) {
    without_a_watch(test, || {
        for _ in 0..3 {
            let (mut a, b) = known_pair();
            drop(b);
            let (mut rx, mut tx) = io::pipe().unwrap();
            let reader = go_until_it_waits(move || read_one(&mut rx).unwrap());
            tx.write_all(b"1").unwrap();
            assert_eq!(reader.join().unwrap(), b'1');
            let _ = a.write_all(b"1");
            drop((a, tx));
            let (mut a, b) = pair();
            assert!(!is_known(&mut a, b));
        }
    });
}

/// The number now is another socket's, and the runtime hasn't seen that.
fn a_number_that_nobody_saw_closed(test: Test) {
    let process = test.process(|| {
        live(|| {
            let (_a, b) = known_pair();
            let (mut c, d) = pair();
            // SAFETY: no memory is passed; the number is b's, and becomes d's.
            assert_ne!(unsafe { libc::syscall(libc::SYS_dup3, d.as_raw_fd(), b.as_raw_fd(), 0) }, -1);
            let reader = go_until_it_waits(move || read_one(&b).unwrap());
            c.write_all(b"1").unwrap();
            assert_eq!(reader.join().unwrap(), b'1');
        });
    });
    process.env("GODEBUG", "period=5").end().with("exit status: 0");
}

fn the_poller_takes_it(test: Test) {
    without_a_watch(test, || {
        let (mut a, b) = known_pair();
        let b = Arc::new(Pollable::new(b).unwrap());
        let reads = b.clone();
        let reader = go_until_it_waits(move || read_one(&*reads).unwrap());
        a.write_all(b"1").unwrap();
        assert_eq!(reader.join().unwrap(), b'1');
        let b = Arc::into_inner(b).unwrap().into_inner();
        assert_eq!(kind(read_one(&b)), ErrorKind::WouldBlock);
        b.set_nonblocking(false).unwrap();
        drop(become_known(&mut a, b));
    });
}

fn an_exploration_refuses_it(test: Test) {
    let process = test.process(|| {
        let mut known = None;
        live(|| known = Some(known_pair()));
        let (_a, b) = known.unwrap();
        let b = Arc::new(b);
        explore(move || _ = recv(&*b, 1, 0));
    });
    process.end().with("exit status: 2").says("a real socket in an exploration");
}
