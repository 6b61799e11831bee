//! Clients, against the server here.

use std::io::ErrorKind;
use std::time::Duration;

use gosched::net::TcpListener;
use gosched::{block_on, go};
use gosched_hyper::client::{Client, Connector, builder, client};
use gosched_hyper::server::Server;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};

use crate::serve;

async fn echo(request: Request<Incoming>) -> crate::Answer {
    Ok(Response::new(Full::from(request.into_body().collect().await.unwrap().to_bytes())))
}

/// Sends a body, and returns what comes back.
fn ask(client: &Client<Full<Bytes>>, uri: &str, body: Bytes) -> Bytes {
    let request = Request::post(uri).body(Full::from(body)).unwrap();
    block_on(async { client.request(request).await.unwrap().into_body().collect().await.unwrap().to_bytes() })
}

#[test]
fn requests_of_many_goroutines_come_back() {
    gosched::run(|| {
        let server = serve(Server::new(), service_fn(echo));
        let uri = format!("http://{}/", server.addr);
        let http2 = builder().http2_only(true).build(Connector::new());
        for client in [client(), http2] {
            let asks: Vec<_> = (0..50)
                .map(|n| {
                    let (client, uri) = (client.clone(), uri.clone());
                    go(move || {
                        for round in 0..5 {
                            let body = Bytes::from(format!("{n} in round {round}"));
                            assert_eq!(ask(&client, &uri, body.clone()), body);
                        }
                    })
                })
                .collect();
            asks.into_iter().for_each(|ask| ask.join().unwrap());
        }
    });
}

/// Larger than what sockets and windows hold, so each side waits for the other.
#[test]
fn large_bodies_come_back() {
    gosched::run(|| {
        let server = serve(Server::new(), service_fn(echo));
        let uri = format!("http://{}/", server.addr);
        let body: Bytes = (0..20 << 20).map(|i| (i * 7 / 8) as u8).collect::<Vec<u8>>().into();
        let http2 =
            builder().http2_only(true).build(Connector::new().connect_timeout(Duration::from_secs(60)));
        for client in [client(), http2] {
            assert!(ask(&client, &uri, body.clone()) == body, "another body");
        }
    });
}

#[test]
fn a_connection_that_fails_is_an_error() {
    gosched::run(|| {
        let refused = {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            format!("http://{}/", listener.local_addr().unwrap())
        };
        for (uri, kind) in [
            (refused.as_str(), ErrorKind::ConnectionRefused),
            ("https://localhost/", ErrorKind::InvalidInput),
        ] {
            let error = block_on(client::<Full<Bytes>>().get(uri.parse().unwrap())).unwrap_err();
            let source = std::error::Error::source(&error).unwrap();
            let io = source.downcast_ref::<std::io::Error>().unwrap_or_else(|| panic!("{source:?}"));
            assert_eq!(io.kind(), kind);
        }
    });
}
