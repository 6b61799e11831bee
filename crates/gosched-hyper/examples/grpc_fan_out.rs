//! gRPC by tonic, without a tokio runtime: a front service asks shops for their prices, all at
//! once, and answers with what has come in time. The front and each shop are servers, and the front
//! is a client of the shops, all over HTTP/2.
//!
//! The messages and services are written by hand. `protoc` and tonic's build script would make the
//! same from a description. Such a service is served as
//! `tower(Routes::new(service).into_axum_router())`.
//!
//! ```text
//! cargo run --release --features client,server,tower --example grpc_fan_out
//! ```

#![forbid(unsafe_code)]

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ::tower::service_fn;
use axum::Router;
use axum::extract;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use axum::routing::post;
use gosched::net::TcpListener;
use gosched::{JoinSet, go, time};
use gosched_hyper::client::{Client, Connector, builder};
use gosched_hyper::server::Server;
use gosched_hyper::{block_on, tower};
use prost::Message;
use tonic::body::Body;
use tonic::{Request, Response, Status, client, server};
use tonic_prost::ProstCodec;

#[derive(Clone, PartialEq, Message)]
struct Item {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Price {
    #[prost(string, tag = "1")]
    shop: String,
    #[prost(uint64, tag = "2")]
    cents: u64,
}

#[derive(Clone, PartialEq, Message)]
struct Prices {
    #[prost(message, repeated, tag = "1")]
    prices: Vec<Price>,
}

/// The method of a shop.
const PRICE: &str = "/prices.Shop/Price";
/// The method of the front.
const PRICES: &str = "/prices.Front/Prices";

/// How long the front waits for shops.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long a request to any service may take.
const LIMIT: Duration = Duration::from_secs(10);

/// A client of one service.
type Service = client::Grpc<Client<Body>>;

fn main() -> io::Result<()> {
    gosched::run(|| {
        let shops = [("quick", 1), ("fair", 20), ("slow", 5_000)]
            .map(|(name, ms)| begin(shop(name, Duration::from_millis(ms))).map(connect));
        let shops = shops.into_iter().collect::<io::Result<_>>()?;
        let front = connect(begin(front(shops, PATIENCE))?);
        for Price { shop, cents } in prices(front, "tea").map_err(io::Error::other)? {
            println!("{shop}: {cents} cents");
        }
        Ok(())
    })
}

/// A shop that waits before it answers.
fn shop(name: &'static str, wait: Duration) -> Router {
    let price = service_fn(move |request: Request<Item>| async move {
        time::sleep(wait);
        let cents = 100 * request.into_inner().name.len() as u64;
        Ok::<_, Status>(Response::new(Price { shop: name.to_owned(), cents }))
    });
    let call = async move |request: extract::Request| {
        server::Grpc::new(ProstCodec::<Price, Item>::default()).unary(price, request).await
    };
    Router::new().route(PRICE, post(call))
}

/// The service that asks all shops at once.
fn front(shops: Vec<Service>, patience: Duration) -> Router {
    let ask_all = service_fn(move |request: Request<Item>| {
        let (shops, item) = (shops.clone(), request.into_inner());
        async move {
            let (mut asked, mut prices) = (JoinSet::new(), Vec::new());
            for shop in shops {
                let item = item.clone();
                asked.go(move || block_on(ask(shop, item)));
            }
            let _late = time::timeout(patience, || {
                while let Some(answer) = asked.join_next() {
                    prices.extend(answer.ok().and_then(Result::ok));
                }
            });
            // The drop of `asked` ends the requests that are left.
            Ok::<_, Status>(Response::new(Prices { prices }))
        }
    });
    let call = async move |request: extract::Request| {
        server::Grpc::new(ProstCodec::<Prices, Item>::default()).unary(ask_all, request).await
    };
    Router::new().route(PRICES, post(call))
}

/// Asks a shop.
async fn ask(mut shop: Service, item: Item) -> Result<Price, Status> {
    shop.ready().await.map_err(|error| Status::from_error(error.into()))?;
    let (path, codec) = (PathAndQuery::from_static(PRICE), ProstCodec::default());
    Ok(shop.unary(Request::new(item), path, codec).await?.into_inner())
}

/// Asks the front.
fn prices(mut front: Service, name: &str) -> Result<Vec<Price>, Status> {
    let (path, codec) = (PathAndQuery::from_static(PRICES), ProstCodec::<Item, Prices>::default());
    let request = Request::new(Item { name: name.to_owned() });
    Ok(block_on(front.unary(request, path, codec))?.into_inner().prices)
}

/// Begins to serve, on a port that is free.
fn begin(service: Router) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let addr = listener.local_addr();
    go(move || Server::new().request_timeout(LIMIT).serve(listener, tower(service)));
    addr
}

/// Makes a client, which connects with its first request.
fn connect(addr: SocketAddr) -> Service {
    let origin = Uri::try_from(format!("http://{addr}")).expect("an address is part of a URI");
    client::Grpc::with_origin(builder().http2_only(true).build(Connector::new()), origin)
}

/// Names the shops whose prices a front gets.
#[cfg(test)]
fn names(waits: &[(&'static str, Duration)], patience: Duration) -> Vec<String> {
    gosched::run(|| {
        let shops = waits.iter().map(|&(name, wait)| connect(begin(shop(name, wait)).unwrap()));
        let front = connect(begin(front(shops.collect(), patience)).unwrap());
        let mut names: Vec<_> = prices(front, "tea").unwrap().into_iter().map(|price| price.shop).collect();
        names.sort();
        names
    })
}

#[test]
fn a_front_gets_all_prices() {
    let wait = Duration::from_millis(1);
    assert_eq!(names(&[("a", wait), ("b", wait), ("c", wait)], 10 * LIMIT), ["a", "b", "c"]);
}

#[test]
fn a_front_doesnt_wait_for_a_slow_shop() {
    let shops = [("quick", Duration::ZERO), ("never", 100 * LIMIT)];
    assert!(!names(&shops, PATIENCE).contains(&"never".to_owned()));
}
