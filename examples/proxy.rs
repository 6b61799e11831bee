//! A TCP proxy. For each connection there are two goroutines, one for each direction. Each copies
//! until the end, and passes the end on.
//!
//! ```text
//! cargo run --release --example proxy
//! ```

#![forbid(unsafe_code)]

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};

use gosched::context::Context;
use gosched::net::{TcpListener, TcpStream};
use gosched::sync::err_group;
use gosched::{go, scope};

const CONNECTIONS: usize = 100;

type Failure = Box<dyn Error + Send + Sync>;

/// The bytes that all clients have received: their number, and the sum of their checksums.
#[derive(Default)]
struct Received {
    bytes: AtomicU64,
    checksum: AtomicU64,
}

fn main() -> Result<(), Failure> {
    gosched::run(|| {
        let server = echo()?;
        let proxy = TcpListener::bind("127.0.0.1:0")?;
        let (address, received) = (proxy.local_addr()?, Received::default());
        err_group(&Context::background(), |group| {
            for n in 0..CONNECTIONS {
                let received = &received;
                group.go(move |_| client(n, address, received));
            }
            for _ in 0..CONNECTIONS {
                let (stream, _) = group.context().with(&proxy).accept()?;
                group.go(move |_| between(&stream, server));
            }
            Ok::<(), Failure>(())
        })?;
        let [bytes, checksum] = [received.bytes, received.checksum].map(AtomicU64::into_inner);
        println!("{CONNECTIONS} connections, {bytes} bytes each way, checksum {checksum:016x}");
        Ok(())
    })
}

/// Begins to serve. The server sends each client its bytes back.
fn echo() -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    go(move || {
        for stream in listener.incoming() {
            go(|| {
                let stream = stream?;
                copy(&stream, &stream)
            });
        }
        Ok::<(), Failure>(())
    });
    Ok(address)
}

/// Connects to the server, and copies in both directions.
fn between(client: &TcpStream, server: SocketAddr) -> Result<(), Failure> {
    let server = &TcpStream::connect(server)?;
    scope(|s| {
        let there = s.go(|| copy(client, server));
        let back = copy(server, client);
        there.join()?.and(back)
    })
}

/// Copies one direction, and passes its end on. The other direction goes on, unless there was an
/// error.
fn copy(mut from: &TcpStream, mut to: &TcpStream) -> Result<(), Failure> {
    let copied = io::copy(&mut from, &mut to).and_then(|_| to.shutdown(Shutdown::Write));
    if copied.is_err() {
        // The other direction would wait forever.
        from.close();
        to.close();
    }
    Ok(copied?)
}

/// Sends bytes to the proxy, and receives them from it meanwhile.
fn client(n: usize, proxy: SocketAddr, received: &Received) -> Result<(), Failure> {
    let sent = bytes(n);
    let mut stream = &TcpStream::connect(proxy)?;
    let mut back = Vec::new();
    scope(|s| {
        let sending =
            s.go(|| (&mut &*stream).write_all(&sent).and_then(|()| stream.shutdown(Shutdown::Write)));
        stream.read_to_end(&mut back)?;
        sending.join()??;
        Ok::<(), Failure>(())
    })?;
    assert!(back == sent, "connection {n}: other bytes came back");
    received.bytes.fetch_add(back.len() as u64, Ordering::Relaxed);
    received.checksum.fetch_add(checksum(&back), Ordering::Relaxed);
    Ok(())
}

/// Returns the bytes that client `n` sends: up to 300 KB, by Marsaglia's xorshift.
fn bytes(n: usize) -> Vec<u8> {
    let mut state = n as u64 + 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..n * 7919 % 300_000).map(|_| next()).collect()
}

/// Returns the FNV-1a hash.
fn checksum(bytes: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325;
    bytes.iter().fold(start, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
