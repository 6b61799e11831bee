//! A WebSocket server that sends each message to all its clients: two goroutines for each.

use gosched::chan::{Receiver, Sender, bounded};
use gosched::net::TcpStream;
use gosched::sync::Mutex;
use gosched::{blocking, go};
use gosched_benches::Args;
use gosched_benches::fanout::{QUEUE, WORKLOAD, clients, config};
use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket, accept_with_config};

use crate::echo::serve;

pub fn run(args: &Args) {
    if args.names(WORKLOAD.0) {
        let server = serve(converse);
        blocking(|| clients(args, server));
    }
}

/// The queue of each client.
static CLIENTS: Mutex<Vec<Sender<Message>>> = Mutex::new(Vec::new());

fn converse(stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let writer = stream.try_clone().unwrap();
    let (queue, messages) = bounded(QUEUE);
    // Before the client knows that it is connected: it gets every message from then on.
    CLIENTS.lock().push(queue);
    let mut socket = accept_with_config(stream, Some(config())).unwrap();
    go(move || write(writer, messages));
    while let Ok(message @ Message::Binary(_)) = socket.read() {
        for client in &*CLIENTS.lock() {
            // A client that is gone needs no message.
            let _ = client.send(message.clone());
        }
    }
}

fn write(stream: TcpStream, messages: Receiver<Message>) {
    let mut socket = WebSocket::from_raw_socket(stream, Role::Server, Some(config()));
    while let Ok(message) = messages.recv() {
        if socket.send(message).is_err() {
            return;
        }
    }
}
