//! A hundred clients of an HTTPS server, rustls on both sides. Each connects twice: the second time
//! it resumes its session.
//!
//! ```text
//! cargo run --release --bin https
//! ```

#![forbid(unsafe_code)]

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use gosched::context::Context;
use gosched::net::TcpStream;
use gosched::sync::err_group;
use network::Failure;
use network::server::{self, ALPN, NAME};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned};

const CLIENTS: usize = 100;

/// The requests that a client sends by each of its connections.
const REQUESTS: usize = 3;

fn main() -> Result<(), Failure> {
    gosched::run(|| {
        let (address, certificate) = server::serve()?;
        let mut roots = RootCertStore::empty();
        roots.add(certificate)?;
        let roots = Arc::new(roots);
        err_group(&Context::background(), |group| {
            for n in 0..CLIENTS {
                let roots = roots.clone();
                group.go(move |_| client(n * REQUESTS, address, roots));
            }
            Ok::<(), Failure>(())
        })?;
        println!("{} requests of {CLIENTS} clients, {CLIENTS} sessions resumed", CLIENTS * 2 * REQUESTS);
        Ok(())
    })
}

/// Connects twice, and requests the paths from `first` on.
fn client(first: usize, address: SocketAddr, roots: Arc<RootCertStore>) -> Result<(), Failure> {
    // The configuration stores the client's sessions.
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    let config = Arc::new(config);
    for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let connection = ClientConnection::new(config.clone(), ServerName::try_from(NAME)?)?;
        let mut stream = BufReader::new(StreamOwned::new(connection, stream));
        for n in first..first + REQUESTS {
            write!(stream.get_mut(), "GET /{n} HTTP/1.1\r\nHost: {NAME}\r\n\r\n")?;
            assert_eq!(answer(&mut stream)?, server::body(n));
        }
        let StreamOwned { conn: connection, sock } = stream.get_mut();
        assert_eq!(connection.handshake_kind(), Some(kind));
        assert_eq!(connection.alpn_protocol(), Some(ALPN));
        connection.send_close_notify();
        connection.complete_io(sock)?;
    }
    Ok(())
}

/// Returns the body of an answer.
fn answer(stream: &mut impl BufRead) -> Result<Vec<u8>, Failure> {
    let head = stream.lines().take_while(|line| !line.as_ref().is_ok_and(String::is_empty));
    let head = head.collect::<Result<Vec<_>, _>>()?;
    let length = head.iter().find_map(|line| line.strip_prefix("Content-Length: ")).ok_or("no length")?;
    let mut body = vec![0; length.parse()?];
    stream.read_exact(&mut body)?;
    Ok(body)
}
