//! HTTP/2: a hundred requests at once over one connection, hyper on both sides. The server answers
//! none before all have come. Then a client gives up on a server that is silent.
//!
//! ```text
//! cargo run --release --bin h2
//! ```

#![forbid(unsafe_code)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gosched::context::Context;
use gosched::go;
use gosched::net::{TcpListener, TcpStream};
use gosched::sync::{Barrier, err_group};
use gosched_hyper::{GoschedExecutor, GoschedIo, GoschedTimer, block_on};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::{self as client, SendRequest};
use hyper::server::conn::http2 as server;
use hyper::service::service_fn;
use hyper::{Request, Response};
use network::Failure;

/// The number of requests at once.
const AT_ONCE: usize = 100;

const ROUNDS: usize = 5;

/// The interval at which each side pings the other. The client of the silent server waits as long
/// for the answer.
const KEEP_ALIVE: Duration = Duration::from_millis(10);

/// The time that the other client waits for an answer to its ping.
const LONG: Duration = Duration::from_secs(60);

/// The size of a body: all bodies together exceed what HTTP/2's windows allow under way at once.
const LENGTH: usize = 100_000;

fn main() -> Result<(), Failure> {
    gosched::run(|| {
        let (sender, connection) = connect(serve()?, LONG)?;
        for round in 0..ROUNDS {
            err_group(&Context::background(), |group| {
                for n in 0..AT_ONCE {
                    let sender = sender.clone();
                    group.go(move |_| block_on(ask(sender, (round * AT_ONCE + n) as u8)));
                }
                Ok::<(), Failure>(())
            })?;
        }
        drop(sender);
        connection.join()??;
        println!("{} requests over one connection, {AT_ONCE} at once", ROUNDS * AT_ONCE);

        let silent = TcpListener::bind("127.0.0.1:0")?;
        let (sender, _connection) = connect(silent.local_addr()?, KEEP_ALIVE)?;
        assert!(block_on(ask(sender, 0)).is_err());
        println!("one request given up, as nobody answered");
        Ok(())
    })
}

/// Begins to serve.
fn serve() -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    go(move || {
        for stream in listener.incoming() {
            go(|| converse(stream?));
        }
        Ok::<(), Failure>(())
    });
    Ok(address)
}

/// The server's side of a connection.
fn converse(stream: TcpStream) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let all_here = Arc::new(Barrier::new(AT_ONCE));
    let service = service_fn(move |request| answer(request, all_here.clone()));
    let mut builder = server::Builder::new(GoschedExecutor::new());
    builder.timer(GoschedTimer::new()).keep_alive_interval(KEEP_ALIVE);
    Ok(block_on(builder.serve_connection(GoschedIo::new(stream), service))?)
}

/// Answers a request with its body, reversed.
async fn answer(request: Request<Incoming>, all_here: Arc<Barrier>) -> hyper::Result<Response<Full<Bytes>>> {
    // Blocking here holds up no other request: each has a goroutine of its own.
    all_here.wait();
    let mut body = request.into_body().collect().await?.to_bytes().to_vec();
    body.reverse();
    Ok(Response::new(Full::from(body)))
}

type Connection = gosched::JoinHandle<hyper::Result<()>>;

/// Connects. Returns the sender of requests, and the goroutine that does the connection's work.
fn connect(
    address: SocketAddr,
    patience: Duration,
) -> Result<(SendRequest<Full<Bytes>>, Connection), Failure> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut builder = client::Builder::new(GoschedExecutor::new());
    builder
        .timer(GoschedTimer::new())
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(patience)
        .keep_alive_while_idle(true);
    let (sender, connection) = block_on(builder.handshake(GoschedIo::new(stream)))?;
    Ok((sender, go(|| block_on(connection))))
}

/// Sends a request, and checks the answer.
async fn ask(mut sender: SendRequest<Full<Bytes>>, n: u8) -> Result<(), Failure> {
    let body: Vec<u8> = (0..LENGTH).map(|i| (i as u8).wrapping_mul(n)).collect();
    let request = Request::post("http://localhost/").body(Full::from(body.clone()))?;
    let back = sender.send_request(request).await?.into_body().collect().await?.to_bytes();
    assert!(body.iter().rev().eq(&back), "another body");
    Ok(())
}
