//! Requests and answers of HTTP/1.1. Each connection has one request.

use std::io::{self, ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use crate::net::Pollable;

/// The most bytes of a request's head. It has no body.
const HEAD: usize = 8 << 10;

/// The most headers of a request.
const HEADERS: usize = 64;

/// How long a request may take to arrive, and an answer to be taken.
const ARRIVAL: Duration = Duration::from_secs(10);
const DELIVERY: Duration = Duration::from_secs(30);

/// Headers of each answer. No page of another origin may use it, and the browser keeps nothing.
const HEADERS_OF_ALL: &str = "Connection: close\r\n\
     Cache-Control: no-store\r\n\
     X-Content-Type-Options: nosniff\r\n\
     X-Frame-Options: DENY\r\n\
     Referrer-Policy: no-referrer\r\n\
     Cross-Origin-Opener-Policy: same-origin\r\n\
     Cross-Origin-Resource-Policy: same-origin\r\n";

/// The policy for answers that aren't the page.
const NOTHING_ALLOWED: &str = "default-src 'none'; frame-ancestors 'none'";

/// A request, as far as it matters.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) is_post: bool,
    pub(super) path: String,
    /// Keys and values of the query, decoded.
    query: Vec<(String, String)>,
    pub(super) host: String,
    pub(super) origin: Option<String>,
    pub(super) fetch_site: Option<String>,
    pub(super) authorization: Option<String>,
}

impl Request {
    /// The value of a key of the query; empty if there is none.
    pub(super) fn asked(&self, key: &str) -> &str {
        self.query.iter().find(|(other, _)| other == key).map_or("", |(_, value)| value)
    }

    /// The number that is the value of a key, if it is one.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        self.asked(key).parse().ok()
    }
}

/// An answer.
pub(super) struct Answer {
    pub(super) status: &'static str,
    pub(super) content_type: &'static str,
    pub(super) policy: Option<String>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn new(content_type: &'static str, body: impl Into<Vec<u8>>) -> Answer {
        Answer { status: "200 OK", content_type, policy: None, body: body.into() }
    }

    pub(super) fn json(text: String) -> Answer {
        Answer::new("application/json", text)
    }

    /// An answer that says what is wrong.
    pub(super) fn error(status: &'static str, why: &str) -> Answer {
        Answer { status, ..Answer::new("text/plain; charset=utf-8", format!("{why}\n")) }
    }

    /// Writes the answer, with the length of its body.
    pub(super) fn write_to<T>(&self, stream: &mut Pollable<T>) -> io::Result<()>
    where
        Pollable<T>: Write,
        T: std::os::fd::AsFd,
    {
        stream.set_write_deadline(Some(Instant::now() + DELIVERY));
        let length = format!("Content-Length: {}\r\n", self.body.len());
        let mut bytes = self.head(&length).into_bytes();
        bytes.extend_from_slice(&self.body);
        stream.write_all(&bytes)
    }

    /// Returns the head, with one more header line.
    pub(super) fn head(&self, more: &str) -> String {
        let Answer { status, content_type, policy, .. } = self;
        let policy = policy.as_deref().unwrap_or(NOTHING_ALLOWED);
        let wait = match status.starts_with("401") {
            true => "WWW-Authenticate: Bearer\r\n",
            false => "",
        };
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Security-Policy: {policy}\r\n\
             {HEADERS_OF_ALL}{wait}{more}\r\n"
        )
    }
}

/// Reads a request. Returns the answer to one that is refused, and none if the client has left.
pub(super) fn read_request<T>(stream: &mut Pollable<T>) -> io::Result<Option<Result<Request, Answer>>>
where
    Pollable<T>: Read,
    T: std::os::fd::AsFd,
{
    stream.set_read_deadline(Some(Instant::now() + ARRIVAL));
    let (mut head, mut len) = (vec![0; HEAD], 0);
    loop {
        match stream.read(&mut head[len..]) {
            Ok(0) => return Ok(None),
            Ok(n) => len += n,
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                return Ok(Some(Err(Answer::error("408 Request Timeout", "the request came too slowly"))));
            }
            Err(error) => return Err(error),
        }
        if let Some(parsed) = parse(&head[..len]) {
            return Ok(Some(parsed));
        }
        if len == HEAD {
            return Ok(Some(Err(too_large())));
        }
    }
}

fn too_large() -> Answer {
    Answer::error("431 Request Header Fields Too Large", "at most 8 KiB and 64 headers")
}

/// Returns the request that the bytes begin with; none if it isn't complete.
fn parse(bytes: &[u8]) -> Option<Result<Request, Answer>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => Some(request_of(&parsed)),
        Ok(httparse::Status::Partial) => None,
        Err(httparse::Error::TooManyHeaders) => Some(Err(too_large())),
        Err(_) => Some(Err(bad("this is no request of HTTP/1.1"))),
    }
}

fn bad(why: &str) -> Answer {
    Answer::error("400 Bad Request", why)
}

fn request_of(parsed: &httparse::Request<'_, '_>) -> Result<Request, Answer> {
    let is_post = match parsed.method {
        Some("GET") => false,
        Some("POST") => true,
        _ => return Err(Answer::error("405 Method Not Allowed", "GET and POST are allowed")),
    };
    let target = parsed.path.unwrap_or_default();
    if !target.starts_with('/') {
        return Err(bad("the target is no path"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request { is_post, path: path.to_owned(), query: pairs(query), ..Request::default() };
    let mut hosts = 0;
    for header in parsed.headers.iter() {
        let value = std::str::from_utf8(header.value).map_err(|_| bad("a header isn't text"))?.trim();
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("host") {
            hosts += 1;
            request.host = value.to_owned();
        } else if is("origin") {
            request.origin = Some(value.to_owned());
        } else if is("sec-fetch-site") {
            request.fetch_site = Some(value.to_owned());
        } else if is("authorization") {
            request.authorization = Some(value.to_owned());
        } else if is("transfer-encoding") || (is("content-length") && value != "0") {
            return Err(Answer::error("413 Content Too Large", "a request has no body here"));
        }
    }
    if hosts == 1 { Ok(request) } else { Err(bad("there must be one header Host")) }
}

fn pairs(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(k, v)| (decode(k), decode(v)))
        .collect()
}

/// Decodes a part of a query: `+` is a space, and `%2F` a slash.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let two = after.get(..2).filter(|two| two.iter().all(u8::is_ascii_hexdigit));
        let hex = two.and_then(|two| std::str::from_utf8(two).ok());
        let byte = hex.filter(|_| *first == b'%').and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(match (byte, first) {
            (Some(byte), _) => byte,
            (None, b'+') => b' ',
            (None, other) => *other,
        });
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Result<Request, &'static str>> {
        parse(text.as_bytes()).map(|parsed| parsed.map_err(|answer| answer.status))
    }

    #[test]
    fn requests() {
        let head = "GET /a?x=1+2%2f%zz&y HTTP/1.1\r\nHost: localhost\r\nORIGIN: http://a\r\n\r\n";
        let request = parsed(head).unwrap().unwrap();
        assert_eq!((request.path.as_str(), request.asked("x"), request.asked("y")), ("/a", "1 2/%zz", ""));
        assert_eq!((request.host.as_str(), request.origin.as_deref()), ("localhost", Some("http://a")));
        assert!(parsed(&head[..head.len() - 1]).is_none());
    }

    #[test]
    fn refused_requests() {
        let refused = |text: &str| parsed(text).unwrap().unwrap_err();
        assert_eq!(refused("GET / HTTP/1.1\r\n\r\n"), "400 Bad Request");
        assert_eq!(refused("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), "400 Bad Request");
        assert_eq!(refused("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), "400 Bad Request");
        assert_eq!(refused("GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n"), "400 Bad Request");
        assert_eq!(refused("DELETE / HTTP/1.1\r\nHost: a\r\n\r\n"), "405 Method Not Allowed");
        for body in ["Content-Length: 5", "Transfer-Encoding: chunked"] {
            let text = format!("POST / HTTP/1.1\r\nHost: a\r\n{body}\r\n\r\n");
            assert_eq!(refused(&text), "413 Content Too Large");
        }
        let many: String = (0..HEADERS).map(|i| format!("A{i}: b\r\n")).collect();
        let text = format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n");
        assert_eq!(refused(&text), "431 Request Header Fields Too Large");
    }
}
