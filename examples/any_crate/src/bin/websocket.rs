//! Two thousand clients of a WebSocket server that echoes, all connected at once, tungstenite on
//! both sides, over std's sockets.
//!
//! ```text
//! cargo run --release --bin websocket
//! cargo run --release --bin websocket -- --threads
//! ```

#![forbid(unsafe_code)]

use std::net::{SocketAddr, TcpStream};
use std::sync::Barrier;

use any_crate::{Failure, connections, for_each, measure, run, serve};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Error, Message, WebSocket, accept_with_config, client};

const CLIENTS: usize = 2_000;

/// The messages that each client sends.
const MESSAGES: usize = 4;

fn main() -> Result<(), Failure> {
    run(|| {
        let address = serve(echo)?;
        let clients = connections(CLIENTS, 2);
        let all_here = Barrier::new(clients);
        measure(&format!("{} messages of {clients} clients came back", MESSAGES * clients), 0, || {
            for_each(clients, move |n| talk(n, address, &all_here))
        })
    })
}

/// Returns a configuration with a small buffer for each connection: messages are small.
fn config() -> WebSocketConfig {
    WebSocketConfig::default().read_buffer_size(4 << 10).write_buffer_size(4 << 10)
}

/// The server's side of a connection.
fn echo(stream: TcpStream) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let mut socket = accept_with_config(stream, Some(config()))?;
    loop {
        match socket.read() {
            Ok(message @ (Message::Text(_) | Message::Binary(_))) => socket.send(message)?,
            Ok(_) => {}
            Err(Error::ConnectionClosed) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The client's side.
fn talk(n: usize, address: SocketAddr, all_here: &Barrier) -> Result<(), Failure> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let url = format!("ws://{address}/");
    let (mut socket, _) = client::client_with_config(url, stream, Some(config()))?;
    all_here.wait();
    for i in 0..MESSAGES {
        let message = match i % 2 {
            0 => Message::text(format!("message {i} of client {n}")),
            _ => Message::binary(vec![n as u8; n * i]),
        };
        socket.send(message.clone())?;
        assert_eq!(socket.read()?, message);
    }
    close(socket)
}

/// Ends a connection, and waits until the other side has agreed.
fn close(mut socket: WebSocket<TcpStream>) -> Result<(), Failure> {
    socket.close(None)?;
    loop {
        match socket.read() {
            Ok(_) => {}
            Err(Error::ConnectionClosed) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}
