//! A TCP proxy on std's sockets: `io::copy` on two goroutines for each connection, one for each
//! direction. Two thousand clients talk through it to a server that echoes, all connected at once.
//!
//! ```text
//! cargo run --release --bin proxy
//! cargo run --release --bin proxy -- --threads
//! ```

#![forbid(unsafe_code)]

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Barrier;
use std::sync::mpsc::channel;

use any_crate::{Failure, connections, for_each, measure, run, serve, spawn};

const CLIENTS: usize = 2_000;

/// The bytes that a client sends.
const BYTES: usize = 20_000;

fn main() -> Result<(), Failure> {
    run(|| {
        let server = serve(echo)?;
        let proxy = serve(move |stream| forward(stream, server))?;
        // Each client needs two connections, whose four ends are here; the proxy clones two of
        // them.
        let clients = connections(CLIENTS, 6);
        let all_here = Barrier::new(clients);
        measure(&format!("{BYTES} bytes of each of {clients} clients came back through the proxy"), 0, || {
            for_each(clients, move |n| talk(n, proxy, &all_here))
        })
    })
}

/// Forwards a connection. Returns when both directions have ended.
fn forward(client: TcpStream, server: SocketAddr) -> Result<(), Failure> {
    let server = TcpStream::connect(server)?;
    let (from_client, from_server) = (client.try_clone()?, server.try_clone()?);
    let (ended, end) = channel();
    spawn(move || _ = ended.send(copy(&from_client, &server)));
    copy(&from_server, &client)?;
    Ok(end.recv()??)
}

/// Copies one direction until its end, and passes the end on.
fn copy(mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
    io::copy(&mut from, &mut to)?;
    to.shutdown(Shutdown::Write)
}

/// The server's side of a connection.
fn echo(stream: TcpStream) -> Result<(), Failure> {
    Ok(copy(&stream, &stream)?)
}

/// The client's side. It receives nothing before it has sent all bytes, for which the buffers have
/// room.
fn talk(n: usize, proxy: SocketAddr, all_here: &Barrier) -> Result<(), Failure> {
    let mut stream = TcpStream::connect(proxy)?;
    all_here.wait();
    let sent: Vec<u8> = (0..BYTES).map(|i| (i * 7 + n) as u8).collect();
    let mut received = Vec::new();
    stream.write_all(&sent)?;
    stream.shutdown(Shutdown::Write)?;
    stream.read_to_end(&mut received)?;
    assert!(received == sent, "another answer");
    Ok(())
}
