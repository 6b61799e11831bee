//! A small HTTP/1.1 server with keep-alive and pipelining. It answers every request with a
//! greeting; for `/sched` it also writes the scheduler's state to stderr.
//!
//! ```text
//!     cargo run --release --example http 127.0.0.1:8080
//!     wrk -c 5000 http://127.0.0.1:8080/
//!     curl http://127.0.0.1:8080/sched
//! ```
//!
//! With `GODEBUG=schedtrace=1000` the state is written each second. With `--features pprof` there
//! are profiles at `/debug/pprof/`: `go tool pprof http://127.0.0.1:8080/debug/pprof/profile`.

#![forbid(unsafe_code)]

#[cfg(feature = "pprof")]
mod debug_pprof;

use std::env;
use std::io::{self, ErrorKind, Read, Write};
use std::str;
use std::time::Duration;

use gosched::net::{TcpListener, TcpStream};
use gosched::time::sleep;
use gosched::{go, proc};

/// The most bytes that the head of a request may have.
const HEAD: usize = 4096;

const HELLO: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n\r\nHello, world!\n";
const BAD_REQUEST: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

fn main() -> io::Result<()> {
    let address = env::args().nth(1).unwrap_or("127.0.0.1:8080".into());
    #[cfg(feature = "pprof")]
    debug_pprof::begin();
    gosched::run(|| serve(&address))
}

fn serve(address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    for stream in listener.incoming() {
        match stream {
            Ok(stream) => drop(go(|| converse(stream))),
            Err(error) => {
                // There may be no descriptors left, for instance: some will be closed soon.
                eprintln!("accept: {error}");
                sleep(Duration::from_millis(10));
            }
        }
    }
    Ok(())
}

/// The parts of a request that the server needs to know.
struct Asked {
    /// The length of the head, in bytes.
    head: usize,
    /// The length of the body, in bytes.
    body: usize,
    /// Whether the connection stays open after this request.
    keep_alive: bool,
    /// The request's path, if it asks for a profile.
    profile: Option<String>,
}

/// Returns the request at the front of `bytes`, if its head is complete. Fails if it is no request.
fn parse(bytes: &[u8]) -> Result<Option<Asked>, ()> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    let mut lines = str::from_utf8(&bytes[..end]).map_err(drop)?.split("\r\n");
    let mut words = lines.next().into_iter().flat_map(|line| line.split(' '));
    let (_method, path) = words.next().zip(words.next()).ok_or(())?;
    let keep_alive = match (words.next(), words.next()) {
        (Some("HTTP/1.1"), None) => true,
        (Some("HTTP/1.0"), None) => false,
        _ => return Err(()),
    };
    let profile = cfg!(feature = "pprof") && path.starts_with("/debug/pprof/");
    let mut asked = Asked { head: end + 4, body: 0, keep_alive, profile: profile.then(|| path.to_owned()) };
    for line in lines {
        let (name, value) = line.split_once(':').ok_or(())?;
        if name.is_empty() || name.contains(char::is_whitespace) || value.contains(['\r', '\n']) {
            return Err(());
        }
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            asked.body = value.parse().map_err(drop)?;
        } else if name.eq_ignore_ascii_case("connection") {
            asked.keep_alive = !value.eq_ignore_ascii_case("close");
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(());
        }
    }
    if path == "/sched" {
        proc::schedtrace(true);
    }
    Ok(Some(asked))
}

/// Answers the requests of a connection.
pub fn converse(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut buf, mut len) = ([0; HEAD], 0);
    loop {
        match parse(&buf[..len]) {
            Ok(Some(asked)) => {
                let here = asked.body.min(len - asked.head);
                skip(&mut stream, asked.body - here)?;
                answer(&mut stream, asked.profile)?;
                if !asked.keep_alive {
                    return Ok(());
                }
                buf.copy_within(asked.head + here..len, 0);
                len -= asked.head + here;
            }
            Ok(None) if len < buf.len() => match stream.read(&mut buf[len..])? {
                0 => return Ok(()),
                n => len += n,
            },
            Ok(None) | Err(()) => return stream.write_all(BAD_REQUEST),
        }
    }
}

fn answer(stream: &mut TcpStream, profile: Option<String>) -> io::Result<()> {
    match profile {
        #[cfg(feature = "pprof")]
        Some(path) => debug_pprof::answer(&path).write_to(stream),
        _ => stream.write_all(HELLO),
    }
}

/// Reads `n` bytes of a body, and drops them.
fn skip(stream: &mut TcpStream, n: usize) -> io::Result<()> {
    let skipped = io::copy(&mut stream.take(n as u64), &mut io::sink())?;
    if skipped < n as u64 { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}
