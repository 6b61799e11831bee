//! Sockets, used by std and by the C library's functions.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use gosched::context::Context;
use gosched::explore::explore;
use gosched::net::Pollable;
use gosched::{JoinHandle, go};

use crate::harness::goroutines::{go_until_it_waits, wait_until};
use crate::harness::polled::{MS, kind, read_one};
use crate::harness::sockets::own_ip;
use crate::harness::{Test, tests};
use crate::stdpark::descriptors::*;
use crate::stdpark::hold_no_threads;

tests! {
    connections_take_no_threads
    a_shutdown_ends_a_receive
    a_unix_socket_is_shut_down
    one_byte_each_for_five_readers
    one_connection_each_for_eight_acceptors
    all_that_was_asked_for
    a_send_returns_when_all_is_sent
    buffers_of_a_message_are_sent_whole
    datagrams_by_the_dozen
    a_connection_is_refused
    timeouts_of_the_socket
    what_is_not_to_wait_does_not
    a_signal_of_a_broken_connection
    beside_the_poller_s_own
    they_end_with_a_run
    an_exploration_refuses_a_wait
    off_until_the_program_says_so
}

fn echo(mut stream: TcpStream) {
    let mut buf = [0; 64];
    while let Ok(n @ 1..) = stream.read(&mut buf) {
        stream.write_all(&buf[..n]).unwrap();
    }
}

fn connections_take_no_threads() {
    const N: usize = 500;
    live(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        go(move || listener.incoming().for_each(|stream| drop(go(move || echo(stream.unwrap())))));
        // A listener's queue has room for 128.
        let mut clients = Vec::new();
        for _ in 0..N / 50 {
            let some: Vec<_> = (0..50).map(|_| go(move || TcpStream::connect(addr).unwrap())).collect();
            clients.extend(some.into_iter().map(|client| client.join().unwrap()));
        }
        until_they_wait(N, "read (std)");
        let talk = |(i, mut client): (usize, TcpStream)| {
            go(move || {
                for round in 0..5 {
                    let said = format!("{i}: {round}");
                    client.write_all(said.as_bytes()).unwrap();
                    let mut heard = vec![0; said.len()];
                    client.read_exact(&mut heard).unwrap();
                    assert_eq!(heard, said.as_bytes());
                }
                client
            })
        };
        let talks: Vec<_> = clients.into_iter().enumerate().map(talk).collect();
        let clients: Vec<_> = talks.into_iter().map(|talk| talk.join().unwrap()).collect();
        until_they_wait(N, "read (std)");
        hold_no_threads(N);
        assert!(parks() >= N as u64);
        drop(clients);
    });
}

fn a_shutdown_ends_a_receive() {
    live(|| {
        same_on_both(Ok(0), |on| {
            let (_a, b) = UnixStream::pair().unwrap();
            let other = b.try_clone().unwrap();
            let reader = on.start(move || recv(&b, 8, 0));
            other.shutdown(Shutdown::Both).unwrap();
            reader()
        });
    });
}

/// Ways to make two connected Unix sockets.
const PAIRS: [fn() -> (UnixStream, UnixStream); 3] = [
    || UnixStream::pair().unwrap(),
    unix_pair,
    || {
        let (a, b) = unix_pair();
        (b, a)
    },
];

/// Returns a socket that has connected, and one that was accepted.
fn unix_pair() -> (UnixStream, UnixStream) {
    // The kernel chooses a name.
    let unnamed = SocketAddr::from_pathname("").unwrap();
    let listener = UnixListener::bind_addr(&unnamed).unwrap();
    let a = UnixStream::connect_addr(&listener.local_addr().unwrap()).unwrap();
    (a, listener.accept().unwrap().0)
}

/// The kernel wakes a thread that waits for room, but reports nothing.
fn a_unix_socket_is_shut_down(test: Test) {
    let process = test.process(|| {
        live(|| {
            let ends = [(true, Shutdown::Read), (false, Shutdown::Write), (false, Shutdown::Both)];
            for ((of_peer, how), pair) in ends.into_iter().flat_map(|end| PAIRS.map(|pair| (end, pair))) {
                same_on_both(Err(libc::EPIPE), |on| {
                    let (a, b) = pair();
                    while send(&a, 1 << 12, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL).is_ok() {}
                    let end = if of_peer { b.try_clone() } else { a.try_clone() };
                    let writer = on.start(move || send(&a, 1 << 12, libc::MSG_NOSIGNAL));
                    end.unwrap().shutdown(how).unwrap();
                    let ret = writer();
                    drop(b);
                    ret
                });
            }
        });
    });
    process.env("GODEBUG", "period=5").end().with("exit status: 0");
}

fn one_byte_each_for_five_readers() {
    live(|| {
        same_on_both(vec![Ok(1); 5], |on| {
            let (mut a, b) = UnixStream::pair().unwrap();
            let b = Arc::new(b);
            let readers: Vec<_> = (0..5)
                .map(|_| {
                    let b = b.clone();
                    on.start(move || recv(&*b, 1, 0))
                })
                .collect();
            a.write_all(b"12345").unwrap();
            readers.into_iter().map(|reader| reader()).collect()
        });
    });
}

fn one_connection_each_for_eight_acceptors() {
    live(|| {
        same_on_both(8, |on| {
            let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
            let addr = listener.local_addr().unwrap();
            let acceptors: Vec<_> = (0..8)
                .map(|_| {
                    let listener = listener.clone();
                    on.start(move || listener.accept().is_ok())
                })
                .collect();
            let clients: Vec<_> = (0..8).map(|_| TcpStream::connect(addr).unwrap()).collect();
            let accepted = acceptors.into_iter().filter_map(|acceptor| acceptor().then_some(())).count();
            drop(clients);
            accepted
        });
    });
}

/// The kernel waits for all of it.
fn all_that_was_asked_for() {
    live(|| {
        let all = |on: On, parts: usize| {
            let (mut a, b) = UnixStream::pair().unwrap();
            let other = b.try_clone().unwrap();
            let reader = on.begin(move || recv(&b, 10, libc::MSG_WAITALL));
            for _ in 0..parts {
                a.write_all(b"xy").unwrap();
                wait_until(|| recv(&other, 1, libc::MSG_PEEK | libc::MSG_DONTWAIT).is_err());
            }
            drop(a);
            reader()
        };
        same_where_nobody_parks(Ok(10), |on| all(on, 5));
        // The end comes first.
        same_where_nobody_parks(Ok(4), |on| all(on, 2));
        // A datagram ends the receive.
        same_where_nobody_parks(Ok(3), |on| {
            let (a, b) = UnixDatagram::pair().unwrap();
            let reader = on.begin(move || recv(&b, 10, libc::MSG_WAITALL));
            a.send(b"abc").unwrap();
            reader()
        });
    });
}

const LARGE: usize = 8 << 20;

fn read_all(mut stream: impl Read) -> usize {
    let mut buf = Vec::new();
    stream.read_to_end(&mut buf).unwrap();
    buf.len()
}

fn a_send_returns_when_all_is_sent() {
    live(|| {
        same_on_both((Ok(LARGE), LARGE), |on| {
            let (a, b) = UnixStream::pair().unwrap();
            let writer = on.start(move || send(&a, LARGE, 0));
            let read = read_all(b);
            (writer(), read)
        });
        // Bytes sent before an error count.
        let some = |on: On| {
            let (a, mut b) = UnixStream::pair().unwrap();
            let writer = on.start(move || send(&a, LARGE, libc::MSG_NOSIGNAL));
            b.read_exact(&mut [0; 4096]).unwrap();
            drop(b);
            let sent = writer();
            sent.is_ok_and(|sent| sent < LARGE) || sent == Err(libc::ECONNRESET)
        };
        same_on_both(true, some);
    });
}

fn buffers_of_a_message_are_sent_whole() {
    live(|| {
        same_on_both((Ok(LARGE), true), |on| {
            let (a, mut b) = UnixStream::pair().unwrap();
            let writer = on.start(move || {
                let parts: Vec<Vec<u8>> = (0..64).map(|i| vec![i; LARGE / 64]).collect();
                let mut buffers: Vec<_> = parts
                    .iter()
                    .map(|part| libc::iovec {
                        iov_base: part.as_ptr().cast_mut().cast(),
                        iov_len: part.len(),
                    })
                    .collect();
                // SAFETY: all zero is a message; the kernel reads the buffers.
                unsafe {
                    let mut msg: libc::msghdr = std::mem::zeroed();
                    (msg.msg_iov, msg.msg_iovlen) = (buffers.as_mut_ptr(), buffers.len() as _);
                    result(libc::sendmsg(a.as_raw_fd(), &msg, 0))
                }
            });
            let mut read = Vec::new();
            b.read_to_end(&mut read).unwrap();
            let in_order =
                read.chunks(LARGE / 64).zip(0..).all(|(part, i)| part.iter().all(|&byte| byte == i));
            (writer(), in_order && read.len() == LARGE)
        });
    });
}

fn datagrams_by_the_dozen() {
    const N: usize = 12;
    live(|| {
        same_on_both((Ok(N), vec![3; N]), |on| {
            let (a, b) = UnixDatagram::pair().unwrap();
            let reader = on.start(move || {
                let mut bytes = [[0_u8; 8]; N];
                let mut buffers =
                    bytes.each_mut().map(|buf| libc::iovec { iov_base: buf.as_mut_ptr().cast(), iov_len: 8 });
                // SAFETY: all zero is a message; the kernel writes to the buffers.
                let (n, msgs) = unsafe {
                    let mut msgs: [libc::mmsghdr; N] = std::mem::zeroed();
                    for (msg, buffer) in msgs.iter_mut().zip(&mut buffers) {
                        (msg.msg_hdr.msg_iov, msg.msg_hdr.msg_iovlen) = (buffer, 1);
                    }
                    let n = libc::recvmmsg(b.as_raw_fd(), msgs.as_mut_ptr(), N as u32, 0, ptr::null_mut());
                    (n, msgs)
                };
                (result(n as isize), msgs.iter().map(|msg| msg.msg_len).collect::<Vec<_>>())
            });
            for _ in 0..N {
                a.send(b"abc").unwrap();
            }
            reader()
        });
        // This is more than there is room for.
        same_on_both((Ok(1000), 1000), |on| {
            let (a, b) = UnixDatagram::pair().unwrap();
            let writer = on.start(move || {
                let mut bytes = *b"abc";
                let mut buffer = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: 3 };
                // SAFETY: all zero is a message; the kernel reads the buffers.
                unsafe {
                    let mut msg: libc::mmsghdr = std::mem::zeroed();
                    (msg.msg_hdr.msg_iov, msg.msg_hdr.msg_iovlen) = (&mut buffer, 1);
                    let mut msgs = vec![msg; 1000];
                    result(libc::sendmmsg(a.as_raw_fd(), msgs.as_mut_ptr(), 1000, 0) as isize)
                }
            });
            let read = (0..1000).filter(|_| b.recv(&mut [0; 8]).unwrap() == 3).count();
            (writer(), read)
        });
    });
}

fn a_connection_is_refused() {
    live(|| {
        for on in [On::Thread, On::Goroutine] {
            let refused = on.start(|| {
                let listener = TcpListener::bind((own_ip(), 0)).unwrap();
                let addr = listener.local_addr().unwrap();
                drop(listener);
                kind(TcpStream::connect(addr))
            });
            assert_eq!(refused(), ErrorKind::ConnectionRefused, "{on:?}");
        }
        // A connection that isn't refused: its socket blocks as before.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let client = go(move || TcpStream::connect(addr).unwrap()).join().unwrap();
        assert!(!is_nonblocking(&client));
        // With a time limit std sets the mode itself, and polls.
        let client = TcpStream::connect_timeout(&addr, Duration::from_secs(3600)).unwrap();
        assert!(!is_nonblocking(&client));
    });
}

fn timeouts_of_the_socket() {
    live(|| {
        same_on_both(Err(libc::EAGAIN), |on| {
            let (_a, b) = UnixStream::pair().unwrap();
            b.set_read_timeout(Some(MS)).unwrap();
            on.start(move || recv(&b, 8, 0))()
        });
        same_on_both((true, Err(libc::EAGAIN)), |on| {
            let (a, _b) = UnixStream::pair().unwrap();
            a.set_write_timeout(Some(MS)).unwrap();
            on.start(move || (send(&a, LARGE, 0).is_ok_and(|sent| sent < LARGE), send(&a, LARGE, 0)))()
        });
        same_on_both(ErrorKind::WouldBlock, |on| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_read_timeout(Some(MS)).unwrap();
            on.start(move || kind(socket.recv_from(&mut [0; 8])))()
        });
        // It doesn't end a wait for which data come.
        same_on_both(Ok(1), |on| {
            let (mut a, b) = UnixStream::pair().unwrap();
            b.set_read_timeout(Some(Duration::from_secs(3600))).unwrap();
            let reader = on.start(move || recv(&b, 8, 0));
            a.write_all(b"x").unwrap();
            reader()
        });
    });
}

fn what_is_not_to_wait_does_not() {
    live(|| {
        let before = parks();
        let (a, b) = UnixStream::pair().unwrap();
        assert_eq!(recv(&b, 8, libc::MSG_DONTWAIT), Err(libc::EAGAIN));
        assert!(send(&a, LARGE, libc::MSG_DONTWAIT).is_ok_and(|sent| sent < LARGE));
        assert_eq!(send(&a, LARGE, libc::MSG_DONTWAIT), Err(libc::EAGAIN));
        a.set_nonblocking(true).unwrap();
        assert_eq!(send(&a, LARGE, 0), Err(libc::EAGAIN));
        assert_eq!(recv(&a, 8, 0), Err(libc::EAGAIN));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        assert_eq!(kind(listener.accept()), ErrorKind::WouldBlock);
        assert_eq!(parks(), before);
    });
}

/// Only a call that has sent nothing raises the signal.
fn a_signal_of_a_broken_connection() {
    live(|| {
        let (a, b) = UnixStream::pair().unwrap();
        drop(b);
        assert_eq!(send(&a, 1, libc::MSG_NOSIGNAL), Err(libc::EPIPE));
        // std ignores the signal.
        assert_eq!(write(a.as_raw_fd(), 1), Err(libc::EPIPE));
    });
}

/// A descriptor is waited for here, then at the crate's poller, and here again.
fn beside_the_poller_s_own() {
    live(|| {
        let (mut a, b) = UnixStream::pair().unwrap();
        let reader = |b: UnixStream| -> JoinHandle<UnixStream> {
            go_until_it_waits(move || {
                assert_eq!(recv(&b, 1, 0), Ok(1));
                b
            })
        };
        let waits = reader(b);
        a.write_all(b"1").unwrap();
        let b = Arc::new(Pollable::new(waits.join().unwrap()).unwrap());
        // std's calls don't wait.
        assert_eq!(recv(b.get_ref(), 1, 0), Err(libc::EAGAIN));
        let before = parks();
        let waits = {
            let b = b.clone();
            go_until_it_waits(move || read_one(&*b).unwrap())
        };
        a.write_all(b"2").unwrap();
        assert_eq!(waits.join().unwrap(), b'2');
        assert_eq!(parks(), before);
        let b = Arc::into_inner(b).unwrap().into_inner();
        b.set_nonblocking(false).unwrap();
        let waits = reader(b);
        a.write_all(b"3").unwrap();
        waits.join().unwrap();
    });
}

fn an_exploration_refuses_a_wait(test: Test) {
    let process = test.process(|| {
        gosched::park_std_waits().unwrap();
        explore(|| {
            let (mut a, b) = UnixStream::pair().unwrap();
            // A call that needn't wait is unaffected.
            a.write_all(b"1").unwrap();
            assert_eq!(recv(&b, 1, 0), Ok(1));
            let _ = recv(&b, 1, 0);
        });
    });
    process.end().with("exit status: 2").says("a real socket in an exploration");
}

fn off_until_the_program_says_so() {
    gosched::run(|| {
        let (mut a, b) = UnixStream::pair().unwrap();
        let reader = go(move || recv(&b, 1, 0));
        a.write_all(b"1").unwrap();
        assert_eq!(reader.join().unwrap(), Ok(1));
        assert_eq!(parks(), 0);
    });
}

/// What `wait` returns, which waits for `reason` when its run is canceled.
pub fn canceled<T: Send + 'static>(reason: &str, wait: impl FnOnce() -> T + Send + 'static) -> T {
    let (ctx, cancel) = Context::background().with_cancel();
    let waits = go(move || ctx.run(wait));
    until_they_wait(1, reason);
    cancel.cancel();
    waits.join().unwrap().unwrap()
}

fn they_end_with_a_run() {
    live(|| {
        let reads = || {
            let (mut ours, _theirs) = UnixStream::pair().unwrap();
            ours.read(&mut [0]).unwrap_err().raw_os_error()
        };
        assert_eq!(canceled("read (std)", reads), Some(libc::ECANCELED));
        let accepts = || TcpListener::bind("127.0.0.1:0").unwrap().accept().unwrap_err().raw_os_error();
        assert_eq!(canceled("accept (std)", accepts), Some(libc::ECANCELED));
        // Its own limit is another end.
        let late = go(|| {
            let (ctx, _cancel) = Context::background().with_cancel();
            ctx.run(|| {
                let (mut ours, _theirs) = UnixStream::pair().unwrap();
                ours.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
                ours.read(&mut [0]).unwrap_err().kind()
            })
        });
        assert_eq!(late.join().unwrap(), Ok(ErrorKind::WouldBlock));
    });
}
