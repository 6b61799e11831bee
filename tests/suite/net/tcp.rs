//! TCP: connections, and how they begin and end.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use gosched::fs::File;
use gosched::net::{TcpListener, TcpStream};
use gosched::{go, run, scope, yield_now};

use crate::harness::interrupts::{other_threads, send};
use crate::harness::polled::*;
use crate::harness::sockets::{listen, tcp_pair, to_linger};
use crate::harness::{Test, tests};

tests! {
    tcp_echo
    tcp_ipv6
    tcp_both_ways_at_once
    tcp_half_closed
    tcp_ends_right_behind_the_data
    tcp_urgent_data
    tcp_connect_fails
    tcp_connect_takes_too_long
    tcp_connect_is_given_up
    tcp_connect_in_two_steps
    tcp_does_not_connect_to_itself
    tcp_options_and_clones
    a_close_lingers
    connections_that_come_at_once
    a_listener_is_closed
    accept_without_descriptors
}

pub(super) const ANY: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

pub(super) fn echo(stream: &TcpStream) -> io::Result<()> {
    io::copy(&mut &*stream, &mut &*stream).map(drop)
}

fn tcp_echo(test: Test) {
    with_one_p_and_several(test, || {
        let (listener, addr) = listen();
        drop(go(move || listener.incoming().for_each(|stream| drop(go(move || echo(&stream.unwrap()))))));
        scope(|s| {
            for i in 0..50_u8 {
                s.go(move || {
                    let mut stream = TcpStream::connect(addr).unwrap();
                    for n in 0..50_u8 {
                        let sent = [i ^ n; 64];
                        stream.write_all(&sent).unwrap();
                        let mut got = [0; 64];
                        stream.read_exact(&mut got).unwrap();
                        assert_eq!(sent, got);
                    }
                });
            }
        });
    });
}

fn tcp_ipv6(test: Test) {
    with_one_p_and_several(test, || {
        // Some machines have no IPv6.
        let Ok(listener) = TcpListener::bind("[::1]:0") else { return };
        let addr = listener.local_addr().unwrap();
        let client = go(move || TcpStream::connect(addr).unwrap());
        let (server, peer) = listener.accept().unwrap();
        let client = client.join().unwrap();
        assert_eq!((peer, client.peer_addr().unwrap()), (client.local_addr().unwrap(), addr));
        (&client).write_all(b"6").unwrap();
        assert_eq!(read_one(&server).unwrap(), b'6');
    });
}

/// Both directions carry more than fits: each side's reader and writer wait at the same time.
fn tcp_both_ways_at_once(test: Test) {
    const SIZE: usize = 8 << 20;
    with_one_p_and_several(test, || {
        let (a, b) = tcp_pair();
        scope(|s| {
            for stream in [&a, &b] {
                s.go(move || {
                    let data: Vec<u8> = (0..SIZE).map(|i| (i % 251) as u8).collect();
                    let mut to = stream;
                    to.write_all(&data).unwrap();
                });
                s.go(move || {
                    let mut data = vec![0; SIZE];
                    let mut from = stream;
                    from.read_exact(&mut data).unwrap();
                    assert!(data.iter().enumerate().all(|(i, &byte)| byte == (i % 251) as u8));
                });
            }
        });
    });
}

fn tcp_half_closed(test: Test) {
    with_one_p_and_several(test, || {
        let (a, b) = tcp_pair();
        let echo = go(move || {
            let mut all = Vec::new();
            (&b).read_to_end(&mut all).unwrap();
            (&b).write_all(&all).unwrap();
        });
        (&a).write_all(b"whole").unwrap();
        a.shutdown(Shutdown::Write).unwrap();
        let mut peeked = [0; 2];
        assert_eq!(a.peek(&mut peeked).unwrap(), 2);
        let mut all = String::new();
        (&a).read_to_string(&mut all).unwrap();
        assert_eq!((&peeked, all.as_str()), (b"wh", "whole"));
        echo.join().unwrap();

        // A goroutine that waits for a stream goes on when the stream is shut down.
        let (a, _b) = tcp_pair();
        let a = Arc::new(a);
        let reader = {
            let a = a.clone();
            go(move || (&*a).read(&mut [0]).unwrap())
        };
        let_them_wait();
        a.shutdown(Shutdown::Both).unwrap();
        assert_eq!(reader.join().unwrap(), 0);
    });
}

/// Data and end come at the same time, and the kernel reports them once.
fn tcp_ends_right_behind_the_data(test: Test) {
    with_one_p_and_several(test, || {
        for round in 0..300 {
            let (a, b) = tcp_pair();
            let reader = go(move || {
                let (mut buf, mut n) = ([0; 64], 0);
                loop {
                    match (&b).read(&mut buf).unwrap() {
                        0 => return n,
                        more => n += more,
                    }
                }
            });
            if round % 3 == 0 {
                yield_now();
            }
            (&a).write_all(b"abc").unwrap();
            if round % 2 == 0 {
                (&a).write_all(b"defg").unwrap();
            }
            drop(a);
            assert_eq!(reader.join().unwrap(), if round % 2 == 0 { 7 } else { 3 });
        }
    });
}

/// A read ends before the urgent byte, although more data follow it.
fn tcp_urgent_data(test: Test) {
    if test.skipped_in_emulator("sockets are its own") {
        return;
    }
    with_one_p_and_several(test, || {
        for _ in 0..50 {
            let (a, b) = tcp_pair();
            let reader = go(move || {
                let (mut buf, mut all) = ([0; 64], Vec::new());
                while all.len() < 4 {
                    let n = (&b).read(&mut buf).unwrap();
                    all.extend_from_slice(&buf[..n]);
                }
                all
            });
            (&a).write_all(b"ab").unwrap();
            // SAFETY: the kernel reads one byte.
            let sent = unsafe { libc::send(a.as_fd().as_raw_fd(), c"!".as_ptr().cast(), 1, libc::MSG_OOB) };
            assert_eq!(sent, 1);
            (&a).write_all(b"cd").unwrap();
            assert_eq!(reader.join().unwrap(), b"abcd");
        }
    });
}

fn tcp_connect_fails(test: Test) {
    with_one_p_and_several(test, || {
        // Nobody listens there any more.
        let (listener, addr) = listen();
        drop(listener);
        assert_eq!(kind(TcpStream::connect(addr)), ErrorKind::ConnectionRefused);
        assert_eq!(kind(TcpStream::connect_timeout(&addr, HOUR)), ErrorKind::ConnectionRefused);
        assert_eq!(kind(TcpStream::connect_timeout(&addr, Duration::ZERO)), ErrorKind::InvalidInput);
        assert_eq!(kind(TcpStream::connect(&[][..] as &[SocketAddr])), ErrorKind::InvalidInput);
        assert_eq!(kind(TcpStream::connect("no port")), ErrorKind::InvalidInput);
        // The client connects to the first address that accepts.
        let listener = TcpListener::bind(ANY).unwrap();
        let second = listener.local_addr().unwrap();
        let client = go(move || {
            let stream = TcpStream::connect(&[addr, second][..]).unwrap();
            assert_eq!(stream.peer_addr().unwrap(), second);
            TcpStream::connect(("localhost", second.port())).unwrap().peer_addr().unwrap()
        });
        drop((listener.accept().unwrap(), listener.accept().unwrap()));
        assert_eq!(client.join().unwrap(), second);
    });
}

/// Returns whether the listener's queue is full.
fn is_full(listener: &TcpListener) -> bool {
    // SAFETY: all zero is a tcp_info.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let (fd, mut len) = (listener.as_fd().as_raw_fd(), size_of_val(&info) as libc::socklen_t);
    // SAFETY: the kernel writes `info`, and its length.
    let ret =
        unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &mut len) };
    assert_eq!(ret, 0);
    // For a listener these are the length of its queue, and the limit, which one more connection
    // may exceed.
    info.tcpi_unacked > info.tcpi_sacked
}

/// Returns a listener with a full queue, which doesn't answer; the queued connections; and, for a
/// connect that wasn't answered in 30 ms, when it began and how it ended.
fn full_listener() -> (TcpListener, Vec<TcpStream>, Instant, io::Error) {
    let (listener, addr) = listen();
    // SAFETY: no memory is passed.
    assert_eq!(unsafe { libc::listen(listener.as_fd().as_raw_fd(), 0) }, 0);
    let mut queued = Vec::new();
    loop {
        let begin = Instant::now();
        match TcpStream::connect_timeout(&addr, 30 * MS) {
            Ok(stream) => queued.push(stream),
            Err(error) if is_full(&listener) => return (listener, queued, begin, error),
            // This happens on a slow machine.
            Err(error) => assert_eq!(error.kind(), ErrorKind::TimedOut),
        }
        assert!(queued.len() < 8, "a queue of 0 takes 8");
    }
}

fn tcp_connect_takes_too_long(test: Test) {
    if test.skipped_in_emulator("the length of a queue isn't the kernel's") {
        return;
    }
    with_one_p_and_several(test, || {
        let (_listener, _queued, begin, error) = full_listener();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(begin.elapsed() >= 30 * MS);
    });
}

fn tcp_connect_is_given_up(test: Test) {
    if test.skipped_in_emulator("the length of a queue isn't the kernel's") {
        return;
    }
    with_one_p_and_several(test, || {
        let (listener, _queued, ..) = full_listener();
        let addr = listener.local_addr().unwrap();
        let stream = Arc::new(TcpStream::begin_connect(&addr).unwrap());
        stream.set_write_deadline(Some(Instant::now() + MS));
        assert_eq!(kind(stream.finish_connect()), ErrorKind::TimedOut);
        stream.set_write_deadline(None);
        let connecting = {
            let stream = stream.clone();
            go(move || stream.finish_connect())
        };
        let_them_wait();
        assert!(!connecting.is_finished());
        stream.close();
        assert_eq!(kind(connecting.join().unwrap()), ErrorKind::BrokenPipe);
        assert_eq!(kind(stream.finish_connect()), ErrorKind::BrokenPipe);
    });
}

fn tcp_connect_in_two_steps(test: Test) {
    with_one_p_and_several(test, || {
        let (listener, addr) = listen();
        let stream = TcpStream::begin_connect(&addr).unwrap();
        let accepted = go(move || (listener.accept().unwrap(), listener));
        for _ in 0..3 {
            stream.finish_connect().unwrap();
        }
        let ((peer, _), listener) = accepted.join().unwrap();
        peer.finish_connect().unwrap();
        (&stream).write_all(b"x").unwrap();
        assert_eq!(read_one(&peer).unwrap(), b'x');
        drop(listener);
        // Loopback may report at once that nobody listens.
        if let Ok(stream) = TcpStream::begin_connect(&addr) {
            assert_eq!(kind(stream.finish_connect()), ErrorKind::ConnectionRefused);
            assert_eq!(kind(stream.finish_connect()), ErrorKind::NotConnected, "it was told");
        }
    });
}

const NO_NETWORK: &str = "it may not have a network of its own";

/// Moves this thread, the only one of the process, into its own network namespace. Returns false if
/// that isn't allowed.
fn in_own_network() -> bool {
    let mut lo = [0_u8; 40]; // an ifreq
    lo[..2].copy_from_slice(b"lo");
    lo[16..18].copy_from_slice(&(libc::IFF_UP as u16).to_ne_bytes());
    // SAFETY: the kernel reads the ifreq.
    unsafe {
        libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) == 0
            && libc::ioctl(libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0), libc::SIOCSIFFLAGS, &raw mut lo)
                == 0
    }
}

fn tcp_does_not_connect_to_itself(test: Test) {
    let process = test.process(|| {
        // If the kernel can choose from two ports only, it tries the even one first.
        let ports = |first: u16| {
            let range = format!("{first} {}", first + 1);
            fs::write("/proc/sys/net/ipv4/ip_local_port_range", range)
        };
        if !in_own_network() || ports(50_000).is_err() {
            return eprintln!("{NO_NETWORK}");
        }
        run(|| {
            let mut next = (50_000..).step_by(2);
            let mut addr = |ip: &str| {
                let port = next.next().unwrap();
                ports(port).unwrap();
                SocketAddr::new(ip.parse().unwrap(), port)
            };
            // Some machines lack the second half, IPv6.
            let ips = ["127.0.0.1", "0.0.0.0", "::1", "::ffff:127.0.0.1"];
            let of = if TcpListener::bind("[::1]:0").is_ok() { 4 } else { 2 };
            for ip in &ips[..of] {
                assert_eq!(kind(TcpStream::connect(addr(ip))), ErrorKind::ConnectionRefused, "{ip}");
                let timeout = TcpStream::connect_timeout(&addr(ip), HOUR);
                assert_eq!(kind(timeout), ErrorKind::ConnectionRefused, "{ip}");
                let begun = TcpStream::begin_connect(&addr(ip)).and_then(|stream| stream.finish_connect());
                assert_eq!(kind(begun), ErrorKind::ConnectionRefused, "{ip}");
            }
            // The kernel doesn't choose a listener's port.
            let addr = addr("127.0.0.1");
            let _listener = TcpListener::bind(addr).unwrap();
            assert_eq!(TcpStream::connect(addr).unwrap().peer_addr().unwrap(), addr);
        });
    });
    let ended = process.end();
    if ended.stderr.contains(NO_NETWORK) {
        return test.skip(NO_NETWORK);
    }
    ended.with("exit status: 0");
}

fn tcp_options_and_clones(test: Test) {
    with_one_p_and_several(test, || {
        let (a, b) = tcp_pair();
        assert!(!a.nodelay().unwrap());
        a.set_nodelay(true).unwrap();
        a.set_ttl(99).unwrap();
        let also_a = a.try_clone().unwrap();
        assert!(also_a.nodelay().unwrap());
        assert_eq!(also_a.ttl().unwrap(), 99);
        assert!(a.take_error().unwrap().is_none());
        // Each stream waits for itself.
        a.set_read_timeout(Some(MS)).unwrap();
        assert_eq!(also_a.read_timeout().unwrap(), None);
        let reader = go(move || read_one(&also_a).unwrap());
        let_them_wait();
        assert_eq!(kind(read_one(&a)), ErrorKind::TimedOut);
        a.close();
        (&b).write_all(b"x").unwrap();
        assert_eq!(reader.join().unwrap(), b'x');
    });
}

/// A signal would end the close at once, and nobody would notice. One of the runtime's signals may
/// be on its way when the close begins.
fn a_close_lingers(test: Test) {
    with_one_p_and_several(test, || {
        lingers(drop);
        lingers(|stream| drop(File::from(OwnedFd::from(stream))));
    });
}

/// Fails if `close` returns before the data are read.
fn lingers(close: impl FnOnce(TcpStream) + Send + 'static) {
    let (stream, peer) = tcp_pair();
    to_linger(&stream);
    let mut written = 0;
    while let Ok(n) = stream.get_ref().write(&[7; 1 << 16]) {
        written += n;
    }
    let (begun, is_closed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let closer = go({
        let (begun, is_closed) = (begun.clone(), is_closed.clone());
        move || {
            begun.store(true, Ordering::SeqCst);
            close(stream);
            is_closed.store(true, Ordering::SeqCst);
        }
    });
    while !begun.load(Ordering::SeqCst) {
        yield_now();
    }
    // These goroutines want the closer's P.
    scope(|s| (0..4).for_each(|_| drop(s.go(let_them_wait))));
    for _ in 0..3 {
        other_threads().for_each(|thread| send(thread, libc::SIGURG));
        let_them_wait();
    }
    assert!(!is_closed.load(Ordering::SeqCst), "it waits for what nobody has read");
    let read = io::copy(&mut &peer, &mut io::sink()).unwrap();
    assert_eq!(read, written as u64);
    closer.join().unwrap();
}

fn connections_that_come_at_once(test: Test) {
    with_one_p_and_several(test, || {
        let (listener, addr) = listen();
        let accepted = AtomicU32::new(0);
        scope(|s| {
            for _ in 0..4 {
                s.go(|| {
                    while accepted.fetch_add(1, Ordering::Relaxed) < 200 {
                        let (mut stream, _) = listener.accept().unwrap();
                        stream.write_all(b"!").unwrap();
                    }
                });
            }
            for _ in 0..200 {
                s.go(|| assert_eq!(read_one(TcpStream::connect(addr).unwrap()).unwrap(), b'!'));
            }
        });
    });
}

fn a_listener_is_closed(test: Test) {
    with_one_p_and_several(test, || {
        let (listener, _) = listen();
        let listener = Arc::new(listener);
        let accepts = {
            let listener = listener.clone();
            go(move || listener.accept().map(drop))
        };
        let_them_wait();
        listener.close();
        assert_eq!(kind(accepts.join().unwrap()), ErrorKind::BrokenPipe);
        listener.set_read_deadline(Some(Instant::now()));
        assert_eq!(kind(listener.accept()), ErrorKind::BrokenPipe);
    });
}

/// No connection is lost: each waits until there is a descriptor for it.
fn accept_without_descriptors(test: Test) {
    with_one_p_and_several(test, || {
        let (listener, addr) = listen();
        let mut client = TcpStream::connect(addr).unwrap();
        client.write_all(b"here").unwrap();
        let mut hoard = Vec::new();
        while let Ok(file) = fs::File::open("/dev/null") {
            hoard.push(file);
        }
        assert_eq!(listener.accept().unwrap_err().raw_os_error(), Some(libc::EMFILE));
        assert_eq!(listener.accept().unwrap_err().raw_os_error(), Some(libc::EMFILE));
        drop(hoard);
        let (server, _) = listener.accept().unwrap();
        assert_eq!(read_one(&server).unwrap(), b'h');
    });
}
