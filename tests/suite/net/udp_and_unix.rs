//! Datagrams, and sockets with a path.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::iter;
use std::net::{self, Shutdown};
use std::os::fd::OwnedFd;
use std::os::unix::net as unix;
use std::path::PathBuf;

use gosched::net::{TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream};
use gosched::{blocking, go, scope, time};

use super::tcp::ANY;
use crate::harness::polled::*;
use crate::harness::sockets::tcp_pair;
use crate::harness::{Test, tests};

tests! {
    udp
    unix_streams
    unix_datagrams
    a_datagram_is_received_into_nothing
    to_std_and_back
}

fn udp(test: Test) {
    with_one_p_and_several(test, || {
        let (a, b) = (UdpSocket::bind(ANY).unwrap(), UdpSocket::bind(ANY).unwrap());
        let (at_a, at_b) = (a.local_addr().unwrap(), b.local_addr().unwrap());
        let answers = go(move || {
            let mut buf = [0; 16];
            let (n, from) = b.recv_from(&mut buf).unwrap();
            assert_eq!((&buf[..n], from), (&b"question"[..], at_a));
            b.send_to(b"answer", from).unwrap();
        });
        let_them_wait();
        a.send_to(b"question", at_b).unwrap();
        a.connect(at_b).unwrap();
        let mut buf = [0; 16];
        assert_eq!(a.peek(&mut buf).unwrap(), 6);
        assert_eq!(a.peek_from(&mut buf).unwrap(), (6, at_b));
        assert_eq!(a.recv(&mut buf).unwrap(), 6);
        assert_eq!(&buf[..6], b"answer");
        assert_eq!(a.send(b"more").unwrap(), 4);
        answers.join().unwrap();
        a.set_read_timeout(Some(MS)).unwrap();
        // The send is refused, as soon as the kernel finds that the receiver is gone.
        let mut errors = iter::repeat_with(|| kind(a.recv(&mut buf)));
        assert_eq!(errors.find(|kind| *kind != ErrorKind::ConnectionRefused), Some(ErrorKind::TimedOut));
    });
}

/// Returns a path for a socket, where nothing exists.
fn path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("gosched-{}-{name}", std::process::id()));
    let _ = fs::remove_file(&path);
    path
}

fn unix_streams(test: Test) {
    with_one_p_and_several(test, || {
        let path = path("streams");
        let listener = UnixListener::bind(&path).unwrap();
        scope(|s| {
            s.go(|| {
                for stream in (&listener).into_iter().take(20) {
                    let stream = stream.unwrap();
                    let byte = read_one(&stream).unwrap();
                    (&stream).write_all(&[byte + 1]).unwrap();
                }
            });
            for i in 0..20 {
                let path = &path;
                s.go(move || {
                    let stream = UnixStream::connect(path).unwrap();
                    (&stream).write_all(&[i]).unwrap();
                    assert_eq!(read_one(&stream).unwrap(), i + 1);
                });
            }
        });
        assert_eq!(listener.local_addr().unwrap().as_pathname(), Some(&*path));
        fs::remove_file(path).unwrap();
        let (a, b) = UnixStream::pair().unwrap();
        a.shutdown(Shutdown::Both).unwrap();
        assert_eq!(kind(read_one(&b)), ErrorKind::UnexpectedEof);
    });
}

fn unix_datagrams(test: Test) {
    with_one_p_and_several(test, || {
        let path = path("datagrams");
        let addr = unix::SocketAddr::from_pathname(&path).unwrap();
        let (a, b) = (UnixDatagram::bind_addr(&addr).unwrap(), UnixDatagram::unbound().unwrap());
        let receiver = go(move || {
            let mut buf = [0; 8];
            let (n, from) = a.recv_from(&mut buf).unwrap();
            assert!(from.is_unnamed());
            n + a.recv(&mut buf).unwrap()
        });
        let_them_wait();
        b.send_to_addr(b"123", &addr).unwrap();
        b.connect_addr(&addr).unwrap();
        b.send(b"4567").unwrap();
        assert_eq!(receiver.join().unwrap(), 7);
        fs::remove_file(path).unwrap();
    });
}

/// The datagram's bytes are lost, as they don't fit.
fn a_datagram_is_received_into_nothing(test: Test) {
    with_one_p_and_several(test, || {
        let (a, b) = (UdpSocket::bind(ANY).unwrap(), UdpSocket::bind(ANY).unwrap());
        let (here, there) = UnixDatagram::pair().unwrap();
        let at_b = b.local_addr().unwrap();
        for (i, text) in [b"one", b"two"].iter().enumerate() {
            a.send_to(*text, at_b).unwrap();
            there.send(*text).unwrap();
            let buf = &mut [0; 3][..3 * i];
            assert_eq!((b.peek(&mut []).unwrap(), b.recv_from(buf).unwrap().0), (0, buf.len()));
            assert_eq!(here.recv(buf).unwrap(), buf.len());
            assert_eq!(buf, &text[..buf.len()]);
        }
        b.set_read_timeout(Some(MS)).unwrap();
        assert_eq!(kind(b.recv(&mut [])), ErrorKind::TimedOut);
    });
}

fn to_std_and_back(test: Test) {
    with_one_p_and_several(test, || {
        let (a, b) = tcp_pair();
        let theirs = net::TcpStream::from(b);
        theirs.set_nonblocking(false).unwrap();
        let thread = go(move || {
            blocking(|| {
                let mut byte = [0];
                (&theirs).read_exact(&mut byte).unwrap();
                assert_eq!(byte, *b"s");
            });
            TcpStream::try_from(theirs).unwrap()
        });
        time::sleep(MS);
        (&a).write_all(b"so").unwrap();
        let fd = OwnedFd::from(thread.join().unwrap());
        let b = TcpStream::try_from(fd).unwrap();
        assert_eq!(read_one(&b).unwrap(), b'o');
        b.set_read_timeout(Some(MS)).unwrap();
        assert_eq!(kind(read_one(&b)), ErrorKind::TimedOut);
        b.set_read_timeout(None).unwrap();
        in_pieces(&a, &b);
    });
}

fn in_pieces(a: &TcpStream, b: &TcpStream) {
    let (mut to, mut from) = (a, b);
    assert_eq!(to.write_vectored(&[io::IoSlice::new(b"ab"), io::IoSlice::new(b"cd")]).unwrap(), 4);
    let (mut first, mut second) = ([0; 3], [0; 1]);
    let mut bufs = [io::IoSliceMut::new(&mut first), io::IoSliceMut::new(&mut second)];
    assert_eq!(from.read_vectored(&mut bufs).unwrap(), 4);
    assert_eq!((&first, &second), (b"abc", b"d"));
}
