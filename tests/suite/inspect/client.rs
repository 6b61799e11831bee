//! A client of HTTP/1.1, on a goroutine.

use std::io::{Read, Write};
use std::net::SocketAddr;

use gosched::go;
use gosched::inspect::Inspector;
use gosched::net::{TcpListener, TcpStream};

use crate::inspect::json::Json;

/// An answer.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    pub fn json(&self) -> Json {
        assert_eq!(self.status, 200, "{}", self.text());
        assert!(self.head.contains("\r\ncontent-type: application/json\r\n"), "{}", self.head);
        Json::of(self.text())
    }

    /// Parses an answer that ends with its connection.
    pub fn of(bytes: &[u8]) -> Answer {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("an end of the head") + 4;
        let head = std::str::from_utf8(&bytes[..end]).expect("text").to_ascii_lowercase();
        let status =
            head.strip_prefix("http/1.1 ").and_then(|rest| rest[..3].parse().ok()).expect("a status");
        let length = format!("\r\ncontent-length: {}\r\n", bytes.len() - end);
        assert!(head.contains(&length), "{head}");
        Answer { status, head, body: bytes[end..].to_vec() }
    }
}

/// Starts a server on a loopback address.
pub fn serve(inspector: Inspector) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    go(move || inspector.serve(listener));
    address
}

/// Connects, and sends the bytes.
pub fn send(address: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(bytes).unwrap();
    stream
}

/// Returns the answer to a request with these headers, each with its `\r\n`.
pub fn request(address: SocketAddr, method: &str, target: &str, headers: &str) -> Answer {
    let text = format!("{method} {target} HTTP/1.1\r\n{headers}\r\n");
    let mut bytes = Vec::new();
    send(address, text.as_bytes()).read_to_end(&mut bytes).unwrap();
    Answer::of(&bytes)
}

pub fn get(address: SocketAddr, target: &str) -> Answer {
    request(address, "GET", target, &format!("Host: {address}\r\n"))
}

pub fn post(address: SocketAddr, target: &str) -> Answer {
    request(address, "POST", target, &format!("Host: {address}\r\nOrigin: http://{address}\r\n"))
}
