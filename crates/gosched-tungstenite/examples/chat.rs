//! A chat over WebSockets: each client's lines go to all. A goroutine for each client receives, and
//! another one sends. SIGINT stops the server.
//!
//! ```text
//! cargo run --release --example chat
//! websocat ws://127.0.0.1:3000/
//! ```

#![forbid(unsafe_code)]

use std::env;
use std::io;
use std::time::Duration;

use gosched::chan::broadcast::{self, RecvContextError};
use gosched::context::Context;
use gosched::net::{TcpListener, TcpStream};
use gosched::signal::{self, Signal};
use gosched::{go, scope};
use gosched_tungstenite::tungstenite::{Message, Result};
use gosched_tungstenite::{Receiver, Sender, WebSocket};

/// The number of lines that a client may be behind. Then it misses the oldest.
const LINES: usize = 100;

type Lines = broadcast::Sender<Message>;

fn main() -> io::Result<()> {
    let addr = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    gosched::run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let interrupts = signal::notify([Signal::INT])?;
        go(move || {
            let _ = interrupts.c().recv();
            cancel.cancel();
        });
        let listener = TcpListener::bind(addr.as_str())?;
        println!("ws://{}/", listener.local_addr()?);
        let (lines, _) = broadcast::channel(LINES);
        scope(|s| {
            while let Ok((stream, _)) = ctx.with(&listener).accept() {
                let (ctx, lines) = (&ctx, &lines);
                s.go(move || converse(ctx, stream, lines));
            }
        }); // which waits until the clients have their close frames
        Ok(())
    })
}

/// Receives the lines of a client, and sends it the lines of all, until it has gone.
fn converse(ctx: &Context, stream: TcpStream, lines: &Lines) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut others = lines.subscribe();
    stream.set_write_timeout(Some(Duration::from_secs(10)))?;
    let Ok(socket) = ctx.run(|| WebSocket::accept(stream)) else { return Ok(()) };
    let (sender, receiver) = socket?.split();
    let (ctx, cancel) = ctx.with_cancel();
    scope(|s| {
        s.go(|| send(&ctx, &mut others, &sender));
        let result = receive(&ctx, &receiver, lines);
        cancel.cancel();
        result
    })
}

/// Receives a client's lines, until it has gone.
fn receive(ctx: &Context, receiver: &Receiver, lines: &Lines) -> Result<()> {
    loop {
        if let line @ Message::Text(_) = receiver.recv_with(ctx)? {
            // Its own receiver is there, so it isn't lost.
            let _ = lines.send(line);
        }
    }
}

/// Sends the lines of all to a client, until the context has ended. Then closes the connection.
fn send(ctx: &Context, lines: &mut broadcast::Receiver<Message>, sender: &Sender) -> Result<()> {
    loop {
        match ctx.with_mut(lines).recv() {
            Ok(line) => sender.send_with(ctx, line)?,
            Err(RecvContextError::Lagged(_)) => {}
            Err(_) => return sender.close(None),
        }
    }
}
