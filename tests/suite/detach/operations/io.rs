//! Sockets, the standard streams, and signals.

use std::io::{ErrorKind, Read, Write};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use gosched::go;
use gosched::net::{TcpStream, UdpSocket, UnixStream};
use gosched::signal::Signal;

use super::{Operation, operations};
use crate::detach::stepper::operation;
use crate::harness::interrupts::this_thread;
use crate::harness::polled::{kind, pipe_pair, read_one};
use crate::harness::sockets::{listen, tcp_pair};
use crate::signal::notify;

pub fn all() -> Vec<Operation> {
    operations! {
        "write, and read what is there" => || {
            let (mut a, mut b) = UnixStream::pair().unwrap();
            let mut buf = [0; 3];
            operation(|| {
                a.write_all(b"abc").unwrap();
                b.read_exact(&mut buf).unwrap();
            });
            assert_eq!(&buf, b"abc");
        };
        "read, and wait" => || {
            let (mut a, b) = UnixStream::pair().unwrap();
            let other = go(move || a.write_all(b"a"));
            assert_eq!(operation(|| read_one(&b)).unwrap(), b'a');
            other.join().unwrap().unwrap();
        };
        "read from a pipe, and wait" => || {
            let (rx, mut tx) = pipe_pair();
            let other = go(move || tx.write_all(b"a"));
            assert_eq!(operation(|| read_one(&rx)).unwrap(), b'a');
            other.join().unwrap().unwrap();
        };
        "read until it is late" => || {
            let (a, _b) = UnixStream::pair().unwrap();
            a.set_read_deadline(Some(Instant::now() + Duration::from_micros(20)));
            assert_eq!(kind(operation(|| read_one(&a))), ErrorKind::TimedOut);
        };
        "close while another reads" => || {
            let (a, b) = UnixStream::pair().unwrap();
            let other = go(move || read_one(&b));
            gosched::yield_now();
            operation(|| drop(a));
            assert_eq!(kind(other.join().unwrap()), ErrorKind::UnexpectedEof);
        };
        "connect" => || {
            let (listener, addr) = listen();
            let other = go(move || listener.accept().unwrap().1);
            let stream = operation(|| TcpStream::connect(addr)).unwrap();
            assert_eq!(other.join().unwrap(), stream.local_addr().unwrap());
        };
        "accept" => || {
            let (listener, addr) = listen();
            let other = go(move || TcpStream::connect(addr).unwrap());
            let (_stream, peer) = operation(|| listener.accept()).unwrap();
            assert_eq!(other.join().unwrap().local_addr().unwrap(), peer);
        };
        "there and back by TCP" => || {
            let (mut a, mut b) = tcp_pair();
            let other = go(move || {
                let byte = read_one(&a).unwrap();
                a.write_all(&[byte + 1]).unwrap();
            });
            let answer = operation(|| {
                b.write_all(&[7]).unwrap();
                read_one(&b).unwrap()
            });
            b.flush().unwrap();
            assert_eq!(answer, 8);
            other.join().unwrap();
        };
        "a datagram" => || {
            let [a, b] = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
            let to = b.local_addr().unwrap();
            let mut buf = [0; 8];
            let (n, from) = operation(|| {
                a.send_to(b"abc", to).unwrap();
                b.recv_from(&mut buf).unwrap()
            });
            assert_eq!((&buf[..n], from), (&b"abc"[..], a.local_addr().unwrap()));
        };
        "write to stderr" => || operation(|| gosched::io::stderr().write_all(b".")).unwrap();
        "be told of a signal" => || {
            let signals = notify(&[Signal::USR1]);
            let signal = operation(|| {
                // SAFETY: no memory is passed.
                unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), this_thread(), libc::SIGUSR1) };
                signals.c().recv().unwrap()
            });
            assert_eq!(signal, Signal::USR1);
        };
        "ask for signals, and no more" => || {
            let signals = operation(|| notify(&[Signal::USR2]));
            operation(|| signals.stop());
        };
    }
}
