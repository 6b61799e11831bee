//! The clients of a WebSocket server that sends each message to all of them:
//! `fanout_client ADDRESS CLIENTS MILLISECONDS`.
//!
//! The first client sends a message. When all have it, the first client sends the next one. All
//! clients run on one thread. Once all are connected and warm, the program prints a line `begun`.
//! At the end it prints a line with the number of messages that clients have got since then, the
//! time that they took, and the 99th percentile of their delays, both in nanoseconds. A delay is
//! the time from the sending of a message until a client has it.

use std::env;
use std::io::{ErrorKind, Read};
use std::net;
use std::time::{Duration, Instant};

use gosched_benches::echo::more_descriptors;
use gosched_benches::fanout::MESSAGE;
use gosched_benches::quantile::quantile;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use tungstenite::protocol::{Message, Role};
use tungstenite::{WebSocket, client};

/// How long the clients run before the measurement begins.
const WARM: Duration = Duration::from_millis(500);

/// The bytes of a message from the server: a head of two bytes comes before a short message.
const FRAME: usize = 2 + MESSAGE;

/// A client, which knows the length of all that it gets.
struct Client {
    stream: TcpStream,
    /// The bytes of the message that haven't come yet.
    missing: usize,
}

impl Client {
    /// Connects as a WebSocket.
    fn new(address: &str, poll: &Poll, token: usize) -> Self {
        let stream = net::TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let (socket, _) = client(format!("ws://{address}/"), stream).unwrap();
        let stream = socket.get_ref().try_clone().unwrap();
        stream.set_nonblocking(true).unwrap();
        let mut stream = TcpStream::from_std(stream);
        poll.registry().register(&mut stream, Token(token), Interest::READABLE).unwrap();
        Client { stream, missing: 0 }
    }

    /// Reads what has come. Returns whether the message is complete.
    fn receive(&mut self) -> bool {
        let mut buf = [0; FRAME];
        while self.missing > 0 {
            match self.stream.read(&mut buf[..self.missing]) {
                Ok(0) => panic!("the server has closed the connection"),
                Ok(n) => self.missing -= n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) => panic!("{error}"),
            }
        }
        true
    }
}

fn main() {
    let words: Vec<String> = env::args().collect();
    let [_, address, count, milliseconds] = &words[..] else { panic!("see the head of this file") };
    more_descriptors();
    let mut poll = Poll::new().unwrap();
    let mut clients: Vec<_> =
        (0..count.parse().unwrap()).map(|token| Client::new(address, &poll, token)).collect();
    rounds(&mut poll, &mut clients, WARM);
    println!("begun");
    let begun = Instant::now();
    let trips = rounds(&mut poll, &mut clients, Duration::from_millis(milliseconds.parse().unwrap()));
    println!("{} {} {:.0}", trips.len(), begun.elapsed().as_nanos(), quantile(&trips, 0.99));
}

/// Sends messages for `length`. Returns how many nanoseconds each took to each client.
fn rounds(poll: &mut Poll, clients: &mut [Client], length: Duration) -> Vec<f64> {
    let (mut events, mut trips, begun) = (Events::with_capacity(1024), Vec::new(), Instant::now());
    while begun.elapsed() < length {
        let mut first = WebSocket::from_raw_socket(&mut clients[0].stream, Role::Client, None);
        first.send(Message::binary(vec![b'x'; MESSAGE])).unwrap();
        let sent = Instant::now();
        clients.iter_mut().for_each(|client| client.missing = FRAME);
        let mut waiting = clients.len();
        while waiting > 0 {
            poll.poll(&mut events, None).unwrap();
            for event in &events {
                let client = &mut clients[event.token().0];
                if client.missing > 0 && client.receive() {
                    trips.push(sent.elapsed().as_nanos() as f64);
                    waiting -= 1;
                }
            }
        }
    }
    trips
}
