//! An HTTPS server: rustls on a goroutine for each connection, and HTTP/1.1 with keep-alive.

use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use gosched::go;
use gosched::net::{TcpListener, TcpStream};
use rustls::crypto::ring::Ticketer;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::Failure;

/// The name in the server's certificate.
pub const NAME: &str = "localhost";

/// The only protocol that the server speaks.
pub const ALPN: &[u8] = b"http/1.1";

/// A path that the server never answers.
pub const SILENCE: &str = "/silence";

/// Returns the body of the answer for the path `/n`.
pub fn body(n: usize) -> Vec<u8> {
    (0..n * 7919 % 50_000).map(|i| (i ^ n) as u8).collect()
}

/// Begins to serve. Returns the address and the certificate.
///
/// # Errors
/// If there is no port, or no certificate.
pub fn serve() -> Result<(SocketAddr, CertificateDer<'static>), Failure> {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let (certificate, key) =
        (made.cert.der().clone(), PrivateKeyDer::try_from(made.key_pair.serialize_der())?);
    let mut config =
        ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate.clone()], key)?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    // With tickets the server stores no sessions, so every client can resume its own, however many
    // clients there are.
    config.ticketer = Ticketer::new()?;
    let config = Arc::new(config);

    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    go(move || {
        for stream in listener.incoming() {
            let config = config.clone();
            // Errors of a client that has gone are ignored.
            go(|| converse(stream?, config));
        }
        Ok::<(), io::Error>(())
    });
    Ok((address, certificate))
}

/// Answers the requests of a connection.
fn converse(stream: TcpStream, config: Arc<ServerConfig>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut stream = BufReader::new(StreamOwned::new(connection, stream));
    while let Some(path) = request(&mut stream)? {
        if path == SILENCE {
            continue;
        }
        let body = body(path.trim_start_matches('/').parse().map_err(io::Error::other)?);
        let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
        answer.extend(body);
        stream.get_mut().write_all(&answer)?;
    }
    Ok(())
}

/// Returns the path of the next request, if there is one.
fn request(stream: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut lines = stream.lines();
    let Some(first) = lines.next().transpose()? else { return Ok(None) };
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    Ok(first.split(' ').nth(1).map(str::to_owned))
}
