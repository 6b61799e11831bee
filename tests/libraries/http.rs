//! An HTTP server on threads of std, for the clients that are tested.

use std::io::{BufRead, BufReader, Read, Result, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::settings::bytes;

/// How long the server pauses in the middle of a response.
const PAUSE: Duration = Duration::from_millis(2);

/// Returns the body that the server has at the path `/n`.
pub fn body(n: usize) -> Vec<u8> {
    bytes(n, n * 7919 % 100_000)
}

/// Starts the server. It answers a GET with [`body`], and a POST with the body that was posted.
pub fn serve() -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("a connection");
            // The body is sent at once, and doesn't wait until the head is acknowledged.
            stream.set_nodelay(true).expect("it can be set");
            // An error ends the thread, because a client may close its connection.
            thread::spawn(move || while answer(&stream).is_ok_and(|more| more) {});
        }
    });
    address
}

/// Answers the next request of a connection. Returns false if there is none.
fn answer(mut stream: &TcpStream) -> Result<bool> {
    // The client sends its next request after this response. So none of it is in this buffer, and
    // lost with it.
    let mut lines = BufReader::new(stream);
    let mut request = String::new();
    if lines.read_line(&mut request)? == 0 {
        return Ok(false);
    }
    let mut length = 0;
    loop {
        let mut line = String::new();
        lines.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().expect("a length");
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut sent = vec![0; length];
    lines.read_exact(&mut sent)?;
    let path = request.split_whitespace().nth(1).expect("a path");
    let body = match request.starts_with("POST") {
        true => sent,
        false => body(path[1..].parse().expect("a number")),
    };
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len())?;
    let (first, second) = body.split_at(body.len() / 2);
    stream.write_all(first)?;
    thread::sleep(PAUSE);
    stream.write_all(second)?;
    Ok(true)
}
