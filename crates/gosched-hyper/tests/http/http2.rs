//! HTTP/2.

use std::convert::Infallible;
use std::sync::Arc;

use gosched::net::TcpStream;
use gosched::sync::Barrier;
use gosched::{block_on, go};
use gosched_hyper::server::Server;
use gosched_hyper::{GoschedExecutor, GoschedIo, GoschedTimer};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::rt::Executor;
use hyper::service::service_fn;
use hyper::{Request, Response};

use crate::serve;

/// Connects, and runs the connection.
pub(crate) fn connect(stream: TcpStream) -> SendRequest<Full<Bytes>> {
    block_on(async {
        let builder = http2::Builder::new(GoschedExecutor::new());
        let (sender, connection) = builder.handshake(GoschedIo::new(stream)).await.unwrap();
        GoschedExecutor::new().execute(async { drop(connection.await) });
        sender
    })
}

/// Sends a body, and returns what comes back.
async fn ask(mut sender: SendRequest<Full<Bytes>>, body: Bytes) -> hyper::Result<Bytes> {
    let request = Request::post("http://localhost/").body(Full::from(body)).unwrap();
    Ok(sender.send_request(request).await?.into_body().collect().await?.to_bytes())
}

async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::from(request.into_body().collect().await.unwrap().to_bytes())))
}

/// No request is answered before all have come, and each handler waits on its goroutine. All bodies
/// together exceed the window of the connection.
#[test]
fn many_streams_of_one_connection_wait_at_once() {
    const STREAMS: usize = 100;
    gosched::run(|| {
        let all_here = Arc::new(Barrier::new(STREAMS));
        let server = serve(
            Server::new(),
            service_fn(move |request: Request<Incoming>| {
                let all_here = all_here.clone();
                async move {
                    all_here.wait();
                    echo(request).await
                }
            }),
        );
        let sender = connect(server.connect());
        for round in 0..3 {
            let asks: Vec<_> = (0..STREAMS)
                .map(|n| {
                    let sender = sender.clone();
                    go(move || {
                        let body = Bytes::from(vec![(n + round) as u8; 50_000]);
                        assert_eq!(block_on(ask(sender, body.clone())).unwrap(), body);
                    })
                })
                .collect();
            asks.into_iter().for_each(|ask| ask.join().unwrap());
        }
        drop(sender);
        server.end().unwrap();
    });
}

#[test]
fn a_panic_ends_one_stream() {
    gosched::run(|| {
        let server = serve(
            Server::new(),
            service_fn(async |request: Request<Incoming>| {
                let response = echo(request).await?;
                assert_ne!(response.body().clone().collect().await?.to_bytes(), "panic", "as the test wants");
                Ok(response)
            }),
        );
        let sender = connect(server.connect());
        assert!(block_on(ask(sender.clone(), "panic".into())).is_err());
        assert_eq!(block_on(ask(sender, "hello".into())).unwrap(), "hello");
    });
}

#[test]
fn a_server_speaks_http2_alone() {
    gosched::run(|| {
        let mut builder = hyper::server::conn::http2::Builder::new(GoschedExecutor::new());
        builder.timer(GoschedTimer::new());
        let server = serve(Server::http2(builder), service_fn(echo));
        assert_eq!(block_on(ask(connect(server.connect()), "hello".into())).unwrap(), "hello");
        let mut stream = server.connect();
        crate::get(&mut stream, "/");
        let answer = std::io::read_to_string(stream).unwrap_or_default();
        assert!(!answer.starts_with("HTTP/1"), "{answer}");
    });
}

#[test]
fn a_server_speaks_http1_alone() {
    gosched::run(|| {
        let builder = hyper::server::conn::http1::Builder::new();
        let server = serve(Server::http1(builder), service_fn(crate::path));
        let mut stream = server.connect();
        crate::get(&mut stream, "/a");
        assert_eq!(crate::answer(&mut stream), "/a");
        assert!(block_on(ask(connect(server.connect()), "hello".into())).is_err());
    });
}
