//! [hyper](https://docs.rs/hyper) 1 on [gosched](https://docs.rs/gosched)'s goroutines: HTTP/1 and
//! 2, servers and clients, and with them axum and what else is made of hyper. No tokio runtime
//! runs.
//!
//! An axum `Router` is served in three lines (features `server` and `tower`):
//!
#![cfg_attr(all(feature = "server", feature = "tower"), doc = "```no_run")]
#![cfg_attr(not(all(feature = "server", feature = "tower")), doc = "```ignore")]
//! use axum::Router;
//! use axum::routing::get;
//! use gosched::net::TcpListener;
//! use gosched_hyper::{server::serve, tower};
//!
//! fn main() -> std::io::Result<()> {
//!     gosched::run(|| {
//!         let app = Router::new().route("/", get(async || "hello"));
//!         let listener = TcpListener::bind("0.0.0.0:3000")?;
//!         serve(listener, tower(app))
//!     })
//! }
//! ```
//!
//! A handler may wait as goroutines do, for instance in `gosched::time::sleep` or a database's blocking
//! driver. Then it keeps the goroutine on which it runs, and others serve the other connections.
//!
//! | feature | what it adds |
//! | --- | --- |
//! | none | [`GoschedIo`], [`GoschedExecutor`] and [`GoschedTimer`]: hyper's traits, for code that uses hyper itself; [`block_on`] |
//! | `server` | `server::serve`, and `server::Server` with limits, timeouts and graceful shutdown |
//! | `tower` | `tower`: services of tower's, such as axum's `Router` |
//! | `client` | `client`: hyper-util's client with its pool of connections |
//!
//! # What differs from tokio
//!
//! - The goroutine that polls a connection of HTTP/1 runs its handlers, which costs least. While a
//!   handler waits as goroutines do, nothing polls that connection. So the handler isn't dropped when its
//!   client has gone. A handler that waits in a future is dropped, as with tokio.
//! - For the same reason neither a handler nor a layer may wait for the request's body as goroutines
//!   do, for instance by a `block_on` of the next layer: `.await` it.
//! - `Server::goroutine_per_request`, `Server::request_timeout` and `Server::max_requests` give each
//!   handler a goroutine of its own. Neither limit holds then. In HTTP/2 each request has a
//!   goroutine anyway.
//! - Futures that need tokio itself, such as `tokio::time::sleep` or tower-http's `TimeoutLayer`, need
//!   [gosched's feature `tokio`](https://docs.rs/gosched/latest/gosched/tokio/index.html), too.
//! - axum's features `tokio` and `ws` need a tokio runtime. With `default-features = false` and what
//!   else you use, axum builds without. gosched-tungstenite's `upgrade` is in place of `ws`.
//!
//! # gRPC
//!
//! tonic's services and clients need no tokio runtime without its feature `transport`:
//! `tower(Routes::new(service).into_axum_router())` is what `server::serve` serves, and
//! `tonic::client::Grpc::with_origin` takes a `client::Client` that was built with `http2_only`. A
//! request's `grpc-timeout` is read by tonic's `transport` only. Here `Server::request_timeout`
//! limits requests, and the client sees the status `Unavailable`. The example `grpc_fan_out` has
//! both sides.
//!
//! # TLS
//!
//! A [`GoschedIo`] is below, and hyper-util's `TokioIo` around it has tokio's traits, which need no
//! runtime. So tokio-rustls's `TlsAcceptor` accepts `TokioIo::new(GoschedIo::new(stream))`, and
//! `TokioIo::new` of its stream is what `server::Server::serve_connection` serves. For a client,
//! hyper-rustls wraps `client::Connector`.

// | file | what it holds |
// | --- | --- |
// | `server/mod.rs` | `serve`, `Server`: accepting, limits, shutdown |
// | `server/connection.rs` | one connection, and what ends it |
// | `server/phase.rs` | the time limits of a connection |
// | `server/request.rs` | one request: its goroutine, its limits, its answer |
// | `server/listener.rs` | what connections come from |
// | `client.rs` | the client's connector |
// | `tower.rs` | tower's services |
// | `executor.rs` | tasks on goroutines |
// | `timer.rs` | sleeps |
// | `io.rs` | `GoschedIo`: reads ahead, waits for room |
// | `drive.rs` | a future, and the goroutine that polls it and waits for its socket |
// | `pollers.rs` | many futures, and few goroutines that poll them |

#[cfg(feature = "client")]
pub mod client;
mod drive;
mod executor;
mod io;
#[cfg(feature = "server")]
mod pollers;
#[cfg(feature = "server")]
pub mod server;
mod timer;
#[cfg(feature = "tower")]
mod tower;

pub use drive::block_on;
pub use executor::GoschedExecutor;
pub use io::{GoschedIo, Socket};
pub use timer::GoschedTimer;
#[cfg(feature = "tower")]
pub use tower::tower;

/// An error of any kind.
#[cfg(feature = "server")]
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The example of the README is compiled with the others.
#[cfg(all(doctest, feature = "server", feature = "tower"))]
#[doc = include_str!("../README.md")]
struct Readme;
