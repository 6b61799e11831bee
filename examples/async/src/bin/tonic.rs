//! tonic, on both sides: ten thousand goroutines call a method over one connection, and goroutines
//! answer. A method waits for its goroutine as for any future.
//!
//! The messages and the service are written by hand. `protoc` and tonic's build script would make
//! the same parts from a description of them.
//!
//! ```text
//! cargo run --release --bin tonic
//! ```

#![forbid(unsafe_code)]

use std::convert::Infallible;

use async_crates::{Failure, compare};
use gosched::go;
use gosched::tokio::{block_on, handle};
use prost::Message;
use tonic::body::Body;
use tonic::codegen::http;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status, client, server};
use tonic_prost::ProstCodec;
use tower::service_fn;

/// A method that a goroutine answers.
const BY_GOROUTINE: &str = "/squares.Squares/ByGoroutine";

/// The same in plain tokio.
const BY_TASK: &str = "/squares.Squares/ByTask";

/// The most bytes under way to the server. The h2 crate limits the number of small messages on one
/// connection in proportion to this window. It takes more of them for an attack, and ends the
/// connection: by default after some eight thousand of ours.
const WINDOW: u32 = 1 << 30;

/// A request, and an answer.
#[derive(Clone, PartialEq, Message)]
struct Number {
    #[prost(uint64, tag = "1")]
    n: u64,
}

fn main() -> Result<(), Failure> {
    gosched::run(|| {
        let channel = block_on(async {
            let incoming = TcpIncoming::bind(([127, 0, 0, 1], 0).into())?.with_nodelay(Some(true));
            let address = incoming.local_addr()?;
            let server = Server::builder().initial_connection_window_size(WINDOW);
            handle().spawn(server.serve_with_incoming(service_fn(serve), incoming));
            Ok::<_, Failure>(Endpoint::from_shared(format!("http://{address}"))?.connect().await?)
        })?;
        let call = |method| {
            let channel = channel.clone();
            move |n| square(channel.clone(), method, n as u64)
        };
        compare(call(BY_GOROUTINE), call(BY_TASK))
    })
}

/// Calls a method, and checks its answer.
async fn square(channel: Channel, method: &'static str, n: u64) -> Result<(), Failure> {
    let mut client = client::Grpc::new(channel);
    client.ready().await?;
    let (path, codec) = (PathAndQuery::from_static(method), ProstCodec::<Number, Number>::default());
    let answer = client.unary(Request::new(Number { n }), path, codec).await?;
    assert_eq!(answer.into_inner().n, n * n);
    Ok(())
}

/// The service: answers a call of either method.
async fn serve(request: http::Request<Body>) -> Result<http::Response<Body>, Infallible> {
    let mut server = server::Grpc::new(ProstCodec::<Number, Number>::default());
    Ok(match request.uri().path() {
        BY_GOROUTINE => server.unary(service_fn(by_goroutine), request).await,
        BY_TASK => server.unary(service_fn(by_task), request).await,
        _ => Status::unimplemented("there is no such method").into_http(),
    })
}

async fn by_goroutine(request: Request<Number>) -> Result<Response<Number>, Status> {
    let Number { n } = request.into_inner();
    let square = go(move || n * n).await.map_err(|error| Status::internal(error.to_string()))?;
    Ok(Response::new(Number { n: square }))
}

async fn by_task(request: Request<Number>) -> Result<Response<Number>, Status> {
    let Number { n } = request.into_inner();
    Ok(Response::new(Number { n: n * n }))
}
