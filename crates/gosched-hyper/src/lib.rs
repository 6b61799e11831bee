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
//! driver: each connection has a goroutine, and in HTTP/2 each request.
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
//! - A handler that waits as goroutines do isn't dropped when its client has gone: nothing polls the
//!   connection meanwhile. A handler that waits in a future is dropped, as with tokio.
//! - For the same reason a handler or a layer of HTTP/1 must not wait for the request's body as
//!   goroutines do, for instance by a `block_on` of the next layer: nothing would read the body.
//!   `.await` it, and put a `time::timeout` around what comes after.
//! - Futures that need tokio itself, such as `tokio::time::sleep` or tower-http's `TimeoutLayer`, need
//!   [gosched's feature `tokio`](https://docs.rs/gosched/latest/gosched/tokio/index.html), too.
//! - axum's features `tokio` and `ws` need a tokio runtime. With `default-features = false` and what
//!   else you use, axum builds without. gosched-tungstenite's `upgrade` is in place of `ws`.
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
// | `server/listener.rs` | what connections come from |
// | `client.rs` | the client's connector |
// | `tower.rs` | tower's services |
// | `executor.rs` | tasks on goroutines |
// | `timer.rs` | sleeps |
// | `io.rs` | `GoschedIo`: reads ahead, waits for room |
// | `drive.rs` | a future, and the goroutine that polls it and waits for its socket |

#[cfg(feature = "client")]
pub mod client;
mod drive;
mod executor;
mod io;
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
