//! Sockets of `std::net`, with timeouts.

use std::io::{Error, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use gosched::{scope, yield_now};

use crate::settings::bytes;

crate::tests! { echoes datagrams connections nothing_comes }

const PATIENCE: Duration = Duration::from_secs(100);

/// Starts a server on threads of std. It sends back slowly what it receives.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            stream.set_nodelay(true).expect("it can be set");
            thread::spawn(move || {
                let mut piece = [0; 4000];
                while let Ok(n @ 1..) = stream.read(&mut piece) {
                    thread::sleep(Duration::from_micros(200));
                    stream.write_all(&piece[..n]).expect("it can be written");
                }
            });
        }
    });
    address
}

fn on_goroutines(f: impl Fn(usize) + Send + Sync) {
    scope(|s| {
        for n in 0..6 {
            let f = &f;
            s.go(move || f(n));
        }
    });
}

fn echoes() {
    let address = echo();
    on_goroutines(|n| {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("it can have one");
        stream.set_write_timeout(Some(PATIENCE)).expect("it can have one");
        for turn in 0..20 {
            let sent = bytes(n + turn, 20_000);
            let mut received = vec![0; sent.len()];
            stream.write_all(&sent).expect("it can be written");
            stream.read_exact(&mut received).expect("it can be read");
            assert!(received == sent, "other bytes");
            yield_now();
        }
        stream.shutdown(Shutdown::Write).expect("it can be shut down");
        assert_eq!(stream.read_to_end(&mut Vec::new()).expect("the end"), 0);
    });
}

/// Repeats a call that a signal ends. SA_RESTART doesn't apply to sockets with a timeout, so `recv`
/// fails with EINTR. The documentation of `read` asks the caller to repeat the call; that of `recv`
/// doesn't mention EINTR.
fn again<T>(mut call: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn datagrams() {
    on_goroutines(|n| {
        let [here, there] = [(); 2].map(|()| UdpSocket::bind(("127.0.0.1", 0)).expect("a port"));
        here.set_read_timeout(Some(PATIENCE)).expect("it can have one");
        here.connect(there.local_addr().expect("an address")).expect("it can be connected");
        let answers = thread::spawn(move || {
            let mut data = [0; 2000];
            for _ in 0..100 {
                let (n, from) = there.recv_from(&mut data).expect("a datagram");
                thread::sleep(Duration::from_micros(300));
                there.send_to(&data[..n], from).expect("it can be sent");
            }
        });
        for turn in 0..100 {
            let (sent, mut received) = (bytes(n + turn, 1 + turn * 13), [0; 2000]);
            assert_eq!(here.send(&sent).expect("it can be sent"), sent.len());
            let n = again(|| here.recv(&mut received)).expect("a datagram");
            assert!(received[..n] == sent, "another datagram");
            yield_now();
        }
        answers.join().expect("it ends");
    });
}

fn connections() {
    let address = echo();
    on_goroutines(|_| {
        for turn in 0..40 {
            let mut stream = match turn % 2 {
                0 => TcpStream::connect(address),
                _ => TcpStream::connect_timeout(&address, PATIENCE),
            }
            .expect("a connection");
            stream.write_all(b"x").expect("it can be written");
            stream.read_exact(&mut [0]).expect("it can be read");
            yield_now();
        }
    });
}

/// Reads from a silent server until the timeout is over. A read that is repeated after a signal
/// starts its timeout anew, so the test sets the timeout to the time that is left.
fn nothing_comes() {
    let address = echo();
    on_goroutines(|_| {
        let mut stream = TcpStream::connect(address).expect("a connection");
        for _ in 0..20 {
            let until = Instant::now() + Duration::from_millis(20);
            let error = loop {
                let left = until.saturating_duration_since(Instant::now()).max(Duration::from_micros(1));
                stream.set_read_timeout(Some(left)).expect("it can have one");
                match stream.read(&mut [0]).expect_err("nothing is sent") {
                    error if error.kind() == ErrorKind::Interrupted => {}
                    error => break error,
                }
            };
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            // The kernel counts in ticks, so a read may end early by at most one.
            assert!(Instant::now() + Duration::from_millis(10) >= until);
            yield_now();
        }
    });
}
