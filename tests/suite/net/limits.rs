//! Cases in which the kernel's readiness doesn't tell everything about a descriptor.

use std::fs;
use std::io::{ErrorKind, IoSliceMut, Read, Write};
use std::net::{self, Ipv4Addr};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::time::Instant;

use gosched::metrics::{self, Value};
use gosched::net::{TcpStream, UnixDatagram, UnixListener};
use gosched::sync::WaitGroup;
use gosched::time::sleep;
use gosched::{blocking, run, scope};

use crate::harness::polled::*;
use crate::harness::sockets::{listen, tcp_pair};
use crate::harness::{Test, tests};

tests! {
    others_have_filled_the_queue
    a_full_queue_and_the_ends_of_a_wait
    more_buffers_than_the_kernel_takes
    another_socket_in_stds_type
    the_connections_of_a_closed_listener
    no_connection_and_no_poller
    a_burst_of_connections
    the_kernel_polls_before_it_sleeps
}

/// Returns a path for a socket, where nothing exists.
fn path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("gosched-{}-{name}", std::process::id()));
    let _ = fs::remove_file(&path);
    path
}

/// Returns how often a goroutine has begun to run; one time in 128 counts.
fn times_run() -> u64 {
    match metrics::read("/sched/latencies:seconds") {
        Some(Value::Float64Histogram(latencies)) => latencies.counts.iter().sum(),
        other => panic!("{other:?}"),
    }
}

/// The kernel doesn't report room in a queue to a sender. But after each try it reports that there
/// is memory for another try.
fn others_have_filled_the_queue(test: Test) {
    with_one_p_and_several(test, || {
        let path = path("full");
        let receiver = UnixDatagram::bind(&path).unwrap();
        let other = UnixDatagram::unbound().unwrap();
        let mut n = 0;
        while other.get_ref().send_to(b"x", &path).is_ok() {
            n += 1;
        }
        scope(|s| {
            for _ in 0..2 {
                s.go(|| {
                    let socket = UnixDatagram::unbound().unwrap();
                    (0..100).for_each(|_| assert_eq!(socket.send_to(b"yz", &path).unwrap(), 2));
                });
            }
            let_them_wait();
            let (begin, before) = (Instant::now(), times_run());
            sleep(300 * MS);
            let times = times_run() - before;
            let most = begin.elapsed().as_millis() / 30;
            assert!(u128::from(times) < most, "they go round and round: {times}, not {most}");
            let mut buf = [0; 4];
            (0..n).for_each(|_| assert_eq!(receiver.recv(&mut buf).unwrap(), 1));
            (0..200).for_each(|_| assert_eq!(receiver.recv(&mut buf).unwrap(), 2));
        });
        fs::remove_file(path).unwrap();
    });
}

fn a_full_queue_and_the_ends_of_a_wait(test: Test) {
    with_one_p_and_several(test, || {
        let path = path("ends");
        let receiver = UnixDatagram::bind(&path).unwrap();
        let socket = UnixDatagram::unbound().unwrap();
        while socket.get_ref().send_to(b"x", &path).is_ok() {}
        let send = || socket.send_to(b"y", &path);
        let begin = Instant::now();
        socket.set_write_timeout(Some(30 * MS)).unwrap();
        assert_eq!(kind(send()), ErrorKind::TimedOut);
        assert!(begin.elapsed() >= 30 * MS);
        socket.set_write_timeout(None).unwrap();
        socket.set_write_deadline(Some(begin + 60 * MS));
        assert_eq!(kind(send()), ErrorKind::TimedOut);
        assert!(begin.elapsed() >= 60 * MS);
        socket.set_write_deadline(None);
        receiver.recv(&mut [0]).unwrap();
        assert_eq!(send().unwrap(), 1);
        scope(|s| {
            let waits = s.go(send);
            let_them_wait();
            socket.close();
            assert_eq!(kind(waits.join().unwrap()), ErrorKind::BrokenPipe);
        });
        fs::remove_file(path).unwrap();
    });
}

/// Lets the poller report what is there, and clears the reports.
fn the_poller_has_told(stream: &TcpStream) {
    let_them_wait();
    stream.readable().unwrap();
}

/// A read that has filled all of its buffers may have left data.
fn more_buffers_than_the_kernel_takes(test: Test) {
    with_one_p_and_several(test, || {
        let (ref a, ref b) = tcp_pair();
        (&*a).write_all(&[7; 1500]).unwrap();
        while b.peek(&mut [0; 1500]).unwrap() < 1500 {
            sleep(MS);
        }
        the_poller_has_told(b);
        let mut bytes = vec![0; 2000];
        let mut bufs: Vec<_> = bytes.chunks_mut(1).map(IoSliceMut::new).collect();
        let first = (&*b).read_vectored(&mut bufs).unwrap();
        b.set_read_timeout(Some(100 * MS)).unwrap();
        let second = (&*b).read_vectored(&mut bufs).unwrap();
        assert_eq!(first + second, 1500);
        assert!(bytes[..first].iter().all(|&byte| byte == 7));
    });
}

/// A socket that keeps datagrams apart: a read that gets less than it could take has got one
/// datagram.
fn another_socket_in_stds_type(test: Test) {
    with_one_p_and_several(test, || {
        let mut fds = [0; 2];
        // SAFETY: the kernel writes two numbers.
        let ret = unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET, 0, fds.as_mut_ptr()) };
        assert_eq!(ret, 0);
        // SAFETY: they are new, and nobody else's.
        let [mut a, b] = fds.map(|fd| net::TcpStream::from(unsafe { OwnedFd::from_raw_fd(fd) }));
        for datagram in [b"one", b"two"] {
            a.write_all(datagram).unwrap();
        }
        let mut b = TcpStream::try_from(b).unwrap();
        the_poller_has_told(&b);
        b.set_read_timeout(Some(100 * MS)).unwrap();
        let mut buf = [0; 8];
        for datagram in [b"one", b"two"] {
            assert_eq!(b.read(&mut buf).unwrap(), 3);
            assert_eq!(&buf[..3], datagram);
        }
    });
}

fn the_connections_of_a_closed_listener(test: Test) {
    with_one_p_and_several(test, || {
        let (ref tcp, addr) = listen();
        let path = path("closed");
        let unix = &UnixListener::bind(&path).unwrap();
        let _stream = TcpStream::connect(addr).unwrap();
        let accepted = &WaitGroup::new();
        accepted.add(1);
        scope(|s| {
            // A connection after the close would be an error.
            let tcp_streams = s.go(|| {
                let streams = tcp.incoming().take(10).map(Result::unwrap);
                streams.inspect(|_| accepted.done()).count()
            });
            let unix_streams = s.go(|| unix.incoming().take(10).map(Result::unwrap).count());
            accepted.wait();
            let_them_wait();
            tcp.close();
            unix.close();
            assert_eq!((tcp_streams.join().unwrap(), unix_streams.join().unwrap()), (1, 0));
        });
        assert!(tcp.incoming().next().is_none());
        // Other calls than its close end nothing.
        let (listener, _) = listen();
        listener.set_read_deadline(Some(Instant::now()));
        assert_eq!(listener.incoming().take(2).filter(Result::is_err).count(), 2);
        fs::remove_file(path).unwrap();
    });
}

/// The error tells why there is no connection.
fn no_connection_and_no_poller(test: Test) {
    with_one_p_and_several(test, || {
        let nowhere = (Ipv4Addr::BROADCAST, 1);
        let of_std = net::TcpStream::connect(nowhere).unwrap_err();
        // One more for the socket, as counting the descriptors takes one.
        limit_descriptors(fs::read_dir("/proc/self/fd").unwrap().count() as u64);
        let error = TcpStream::connect(nowhere).unwrap_err();
        assert_eq!(error.raw_os_error(), of_std.raw_os_error());
        assert_ne!(error.raw_os_error(), Some(libc::EMFILE));
    });
}

/// Nobody accepts the connections yet.
fn a_burst_of_connections(test: Test) {
    with_one_p_and_several(test, || {
        let allowed = fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
        let burst = allowed.trim().parse::<usize>().unwrap().min(300);
        let (listener, addr) = listen();
        // A connection that finds no room is retried until the kernel gives up.
        let connect = |_| net::TcpStream::connect(addr);
        let streams = blocking(|| (0..burst).map(connect).collect::<Result<Vec<_>, _>>());
        assert_eq!(streams.unwrap().len(), listener.incoming().take(burst).map(Result::unwrap).count());
    });
}

/// The kernel does so if it supports that; otherwise the test says that it is skipped.
fn the_kernel_polls_before_it_sleeps(test: Test) {
    let set = || {
        run(|| drop(listen()));
        let is_epoll = |fd: &RawFd| {
            fs::read_link(format!("/proc/self/fd/{fd}"))
                .is_ok_and(|to| to.ends_with("anon_inode:[eventpoll]"))
        };
        let epfd = (0..100).find(is_epoll).expect("there is a poller");
        // SAFETY: all zero are parameters.
        let mut params: libc::epoll_params = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel writes them.
        let got = unsafe { libc::ioctl(epfd, libc::EPIOCGPARAMS, &mut params) };
        if got == 0 {
            assert_eq!(params.busy_poll_usecs, 50);
            eprintln!("polls");
        }
    };
    let ended = test.process(set).env("GODEBUG", "busypoll=50").end();
    ended.with("exit status: 0");
    assert!(
        ended.stderr.contains("polls") != ended.stderr.contains("GODEBUG=busypoll=50: "),
        "{}",
        ended.stderr
    );
}
