//! Requests that are refused: of other hosts and origins, without the token, too large, too many.

use std::io::{ErrorKind, Read, Write};

use gosched::inspect::{self, Inspector};
use gosched::net::{TcpListener, UnixListener, UnixStream};
use gosched::{go, run, yield_now};

use crate::harness::tests;
use crate::inspect::client::{Answer, get, request, send, serve};

tests! {
    hosts
    origins
    tokens
    listeners
    heads
    #[slow]
    slow_clients
    too_many_connections
    paths
    the_page
    unix_sockets
}

const TOKEN: &str = "correct horse battery staple";

fn hosts() {
    run(|| {
        let address = serve(Inspector::new().host("Debug.example.org"));
        let status = |host: &str| request(address, "GET", "/api/info", host).status;
        for host in ["localhost", "localhost:1", "127.0.0.1:80", "[::1]", "debug.EXAMPLE.org:8080"] {
            assert_eq!(status(&format!("Host: {host}\r\n")), 200, "{host}");
        }
        for host in ["example.org", "localhost.example.org", "10.0.0.1", "127.0.0.1.example.org", ""] {
            assert_eq!(status(&format!("Host: {host}\r\n")), 421, "{host}");
        }
        assert_eq!(status(""), 400);
        assert_eq!(status("Host: localhost\r\nHost: localhost\r\n"), 400);
        // Not even the page itself is there for another host.
        assert_eq!(request(address, "GET", "/", "Host: example.org\r\n").status, 421);
    });
}

fn origins() {
    run(|| {
        let address = serve(Inspector::new());
        let status = |method: &str, header: &str| {
            request(address, method, "/api/recorder", &format!("Host: {address}\r\n{header}")).status
        };
        for method in ["GET", "POST"] {
            for origin in ["http://example.org", "null", "http://127.0.0.1:1", "http://localhost"] {
                assert_eq!(status(method, &format!("Origin: {origin}\r\n")), 403, "{method} {origin}");
            }
            for site in ["cross-site", "same-site"] {
                assert_eq!(status(method, &format!("Sec-Fetch-Site: {site}\r\n")), 403, "{method} {site}");
            }
        }
        assert_eq!(
            status("POST", &format!("Origin: http://{address}\r\nSec-Fetch-Site: same-origin\r\n")),
            200
        );
        // Only a POST starts something.
        assert_eq!(status("GET", ""), 404);
    });
}

fn tokens() {
    run(|| {
        let address = serve(Inspector::new().token(TOKEN));
        let status = |path: &str, token: &str| {
            request(address, "GET", path, &format!("Host: {address}\r\n{token}")).status
        };
        for path in ["/api/info", "/api/goroutines", "/api/live", "/metrics", "/nothing"] {
            assert_eq!(status(path, ""), 401, "{path}");
        }
        assert_eq!(status("/api/info", "Authorization: Bearer correct horse battery stapl\r\n"), 401);
        assert_eq!(status("/api/info", &format!("Authorization: Basic {TOKEN}\r\n")), 401);
        assert_eq!(status("/api/info", &format!("Authorization: Bearer {TOKEN}\r\n")), 200);
        assert_eq!(get(address, &format!("/api/info?token={TOKEN}").replace(' ', "+")).status, 401);
        let page = get(address, "/");
        assert!(page.status == 200 && !page.text().contains(TOKEN));
    });
}

fn listeners() {
    run(|| {
        let everywhere = || TcpListener::bind("0.0.0.0:0").unwrap();
        let kind = |inspector: Inspector| inspector.serve(everywhere()).unwrap_err().kind();
        assert_eq!(inspect::serve(everywhere()).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(kind(Inspector::new().host("example.org")), ErrorKind::InvalidInput);
        assert_eq!(kind(Inspector::new().token("too short")), ErrorKind::InvalidInput);
        let listener = everywhere();
        let port = listener.local_addr().unwrap().port();
        go(|| Inspector::new().token(TOKEN).serve(listener));
        let address = ([127, 0, 0, 1], port).into();
        let headers = format!("Host: 192.0.2.1\r\nAuthorization: Bearer {TOKEN}\r\n");
        assert_eq!(request(address, "GET", "/api/info", &headers).status, 200);
    });
}

fn heads() {
    run(|| {
        let address = serve(Inspector::new());
        let status = |headers: &str| request(address, "GET", "/", headers).status;
        let host = format!("Host: {address}\r\n");
        assert_eq!(status(&format!("{host}X: {}\r\n", "x".repeat(7000))), 200);
        assert_eq!(status(&format!("{host}X: {}\r\n", "x".repeat(9000))), 431);
        assert_eq!(status(&format!("{host}X: {}\r\n", "x".repeat(100_000))), 431);
        assert_eq!(status(&format!("{host}{}", "X: x\r\n".repeat(100))), 431);
        assert_eq!(status(&format!("{host}Content-Length: 1\r\n")), 413);
        assert_eq!(status(&format!("{host}Transfer-Encoding: chunked\r\n")), 413);
        assert_eq!(status(&format!("{host}X\r\n")), 400);
        assert_eq!(request(address, "PUT", "/", &host).status, 405);
        let mut bytes = Vec::new();
        send(address, b"\x16\x03\x01\x02\x00\x01\xfc\x03\x03").read_to_end(&mut bytes).unwrap();
        assert_eq!(Answer::of(&bytes).status, 400, "TLS");
    });
}

/// A client that sends its request byte by byte has ten seconds in all.
fn slow_clients() {
    run(|| {
        let address = serve(Inspector::new());
        let mut stream = send(address, b"GET / HTTP/1.1\r\n");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        assert_eq!(Answer::of(&bytes).status, 408);
        assert_eq!(get(address, "/api/info").status, 200);
    });
}

fn too_many_connections() {
    run(|| {
        let address = serve(Inspector::new());
        let mut open: Vec<_> = (0..32).map(|_| send(address, b"GET /")).collect();
        // They are accepted in their order, so the 33rd is one too many.
        let mut one_more = send(address, b"");
        let closed = one_more.read(&mut [0]);
        assert!(matches!(&closed, Ok(0) | Err(_)), "{closed:?}");
        drop(open.pop());
        let host = format!("GET /api/info HTTP/1.1\r\nHost: {address}\r\n\r\n");
        let answered = || {
            let mut stream = send(address, b"");
            let mut bytes = Vec::new();
            // Either may fail: the server has closed the connection.
            let sent = stream.write_all(host.as_bytes()).and_then(|()| stream.read_to_end(&mut bytes));
            sent.is_ok() && bytes.starts_with(b"HTTP/1.1 200 ")
        };
        while !answered() {
            yield_now();
        }
    });
}

fn paths() {
    run(|| {
        let address = serve(Inspector::new());
        for path in [
            "/../../etc/passwd",
            "/..%2f..%2fetc%2fpasswd",
            "/%2e%2e/etc/passwd",
            "//etc/passwd",
            "/page.html",
            "/api",
            "/api/",
            "/api/info/",
            "/API/info",
            "/api/profile",
        ] {
            let answer = get(address, path);
            assert!(answer.status == 404 && !answer.text().contains("root:"), "{path}: {}", answer.text());
        }
        assert_eq!(get(address, "/api/info?x=../../etc/passwd#y").status, 200);
        assert_eq!(get(address, "http://localhost/api/info").status, 400);
        assert_eq!(get(address, "*").status, 400);
    });
}

/// The page runs its own script and no other, and loads nothing from elsewhere.
fn the_page() {
    run(|| {
        let address = serve(Inspector::new());
        let nonces = [0, 1].map(|_| {
            let page = get(address, "/");
            let (_, rest) = page.head.split_once("script-src 'nonce-").expect("a nonce");
            let nonce = rest.split('\'').next().unwrap().to_owned();
            let text = page.text();
            assert_eq!(text.matches(&format!("<script nonce=\"{nonce}\">")).count(), 1);
            assert_eq!((text.matches("<script").count(), text.matches("{{nonce}}").count()), (1, 0));
            assert!(page.head.contains("default-src 'none'") && page.head.contains("frame-ancestors 'none'"));
            for other in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "src=",
                "@import",
                " style=\"",
            ] {
                assert!(!text.contains(other), "{other}");
            }
            let urls: Vec<&str> = text.match_indices("://").map(|(at, _)| &text[at - 5..at + 22]).collect();
            assert!(urls.iter().all(|url| url.contains("www.w3.org/2000/svg")), "{urls:?}");
            nonce
        });
        assert_ne!(nonces[0], nonces[1]);
    });
}

fn unix_sockets() {
    run(|| {
        let path = std::env::temp_dir().join(format!("gosched-inspect-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        go(|| Inspector::new().serve_unix(listener));
        let answer = |host: &str| {
            let mut stream = UnixStream::connect(&path).unwrap();
            write!(stream, "GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            Answer::of(&bytes)
        };
        assert!(answer("localhost").text().contains("\ngosched_sched_goroutines_goroutines 3\n"));
        assert_eq!(answer("example.org").status, 421);
        std::fs::remove_file(&path).unwrap();
    });
}
