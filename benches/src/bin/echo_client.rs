//! The clients of an echo server, the same for every server:
//! `echo_client ADDRESS CONNECTIONS MILLISECONDS`.
//!
//! Each client sends 64 bytes, waits until they have come back, and sends again. All clients run on
//! one thread. Once all are connected and warm, the program prints a line `begun`. At the end it
//! prints a line with the number of round trips since then, the time that they took, and the 99th
//! percentile of a round trip, both in nanoseconds.

use std::io::{self, ErrorKind, Read, Write};
use std::time::{Duration, Instant};
use std::{env, net};

use gosched_benches::echo::{MESSAGE, more_descriptors};
use gosched_benches::quantile::quantile;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

/// How long the clients run before the measurement begins.
const WARM: Duration = Duration::from_millis(500);

/// A client.
struct Client {
    stream: TcpStream,
    sent: Instant,
    /// The number of bytes that haven't come back yet.
    missing: usize,
}

impl Client {
    fn send(&mut self) {
        // The socket's buffer is empty, so 64 bytes fit.
        assert_eq!(self.stream.write(&[b'x'; MESSAGE]).unwrap(), MESSAGE);
        (self.sent, self.missing) = (Instant::now(), MESSAGE);
    }

    /// Reads the bytes that have come back. Returns the time of the round trip if it is complete.
    fn receive(&mut self) -> Option<Duration> {
        let mut buf = [0; MESSAGE];
        loop {
            match self.stream.read(&mut buf[..self.missing]) {
                Ok(0) => panic!("the server has closed the connection"),
                Ok(n) => self.missing -= n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) => panic!("{error}"),
            }
            if self.missing == 0 {
                return Some(self.sent.elapsed());
            }
        }
    }
}

fn main() {
    let words: Vec<String> = env::args().collect();
    let [_, address, connections, milliseconds] = &words[..] else { panic!("see the head of this file") };
    more_descriptors();
    let mut poll = Poll::new().unwrap();
    let connect = |i| {
        let stream = net::TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_nonblocking(true).unwrap();
        let mut stream = TcpStream::from_std(stream);
        poll.registry().register(&mut stream, Token(i), Interest::READABLE).unwrap();
        Client { stream, sent: Instant::now(), missing: 0 }
    };
    let mut clients: Vec<_> = (0..connections.parse().unwrap()).map(connect).collect();
    clients.iter_mut().for_each(Client::send);
    let length = Duration::from_millis(milliseconds.parse().unwrap());
    rounds(&mut poll, &mut clients, WARM);
    println!("begun");
    if length.is_zero() {
        io::copy(&mut io::stdin(), &mut io::sink()).unwrap();
        return;
    }
    let begun = Instant::now();
    let trips = rounds(&mut poll, &mut clients, length);
    let took = begun.elapsed();
    println!("{} {} {:.0}", trips.len(), took.as_nanos(), quantile(&trips, 0.99));
}

/// Makes round trips for `length`. Returns how many nanoseconds each took.
fn rounds(poll: &mut Poll, clients: &mut [Client], length: Duration) -> Vec<f64> {
    let (mut events, mut trips, begun) = (Events::with_capacity(1024), Vec::new(), Instant::now());
    while begun.elapsed() < length {
        poll.poll(&mut events, Some(length)).unwrap();
        for event in &events {
            let client = &mut clients[event.token().0];
            if let Some(trip) = client.receive() {
                trips.push(trip.as_nanos() as f64);
                client.send();
            }
        }
    }
    trips
}
