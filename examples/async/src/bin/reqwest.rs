//! reqwest over TLS: ten thousand goroutines get a page each, sixty-four at a time. The server is
//! on goroutines, too; its rustls reads and writes as on threads.
//!
//! ```text
//! cargo run --release --bin reqwest
//! ```

#![forbid(unsafe_code)]

use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use async_crates::{Failure, compare, in_task};
use gosched::go;
use gosched::net::{TcpListener, TcpStream};
use reqwest::{Certificate, Client};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tokio::sync::Semaphore;

/// The name in the server's certificate.
const NAME: &str = "localhost";

/// The number of requests at a time: reqwest has a connection for each.
const AT_A_TIME: usize = 64;

fn main() -> Result<(), Failure> {
    gosched::run(|| {
        let (address, certificate) = serve()?;
        let client = Client::builder()
            .tls_built_in_root_certs(false)
            .add_root_certificate(Certificate::from_der(&certificate)?)
            .resolve(NAME, address)
            .no_proxy()
            .build()?;
        let (url, slots) =
            (format!("https://{NAME}:{}", address.port()), Arc::new(Semaphore::new(AT_A_TIME)));
        let ask = move |n| get(client.clone(), format!("{url}/{n}"), slots.clone());
        compare(|n| in_task(ask(n)), ask.clone())
    })
}

/// Gets a page, and checks that it is the right one.
async fn get(client: Client, url: String, slots: Arc<Semaphore>) -> Result<(), Failure> {
    let _slot = slots.acquire().await?;
    let page = client.get(&url).send().await?.error_for_status()?.text().await?;
    assert!(url.ends_with(&page), "{url} has {page}");
    Ok(())
}

/// Begins to serve. Returns the address and the certificate. The body of each page is the page's
/// path.
fn serve() -> Result<(SocketAddr, CertificateDer<'static>), Failure> {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let (certificate, key) =
        (made.cert.der().clone(), PrivateKeyDer::try_from(made.key_pair.serialize_der())?);
    let config =
        ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate.clone()], key)?;
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    go(move || {
        for stream in listener.incoming() {
            let config = config.clone();
            go(|| answer(stream?, config));
        }
        Ok::<(), io::Error>(())
    });
    Ok((address, certificate))
}

/// Answers the requests of a connection.
fn answer(stream: TcpStream, config: Arc<ServerConfig>) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(StreamOwned::new(ServerConnection::new(config)?, stream));
    loop {
        let head = (&mut stream).lines().take_while(|line| !line.as_ref().is_ok_and(String::is_empty));
        let head = head.collect::<Result<Vec<_>, _>>()?;
        let Some(path) = head.first().and_then(|line| line.split(' ').nth(1)) else { return Ok(()) };
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{path}", path.len());
        stream.get_mut().write_all(answer.as_bytes())?;
    }
}
