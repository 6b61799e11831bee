//! An axum server on goroutines: a page, and a handler that waits as goroutines do. SIGINT stops it
//! after the requests that have come. With an argument, that is its address.
//!
//! ```text
//! cargo run --release --features server,tower --example axum
//! curl http://127.0.0.1:3000/wait/50
//! ```

#![forbid(unsafe_code)]

use std::env;
use std::io;
use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::routing::get;
use gosched::context::Context;
use gosched::net::TcpListener;
use gosched::signal::{self, Signal};
use gosched::{go, time};
use gosched_hyper::server::Server;
use gosched_hyper::tower;

fn main() -> io::Result<()> {
    let addr = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    gosched::run(|| {
        let app = Router::new().route("/", get(async || "Hello, world!\n")).route("/wait/{ms}", get(wait));
        let (ctx, cancel) = Context::background().with_cancel();
        let interrupts = signal::notify([Signal::INT])?;
        go(move || {
            let _ = interrupts.c().recv();
            cancel.cancel();
        });
        let listener = TcpListener::bind(addr.as_str())?;
        println!("http://{}", listener.local_addr()?);
        Server::new()
            .max_connections(10_000)
            .shutdown_on(&ctx)
            .shutdown_limit(Duration::from_secs(10))
            .serve(listener, tower(app))
    })
}

/// Waits on the connection's goroutine.
async fn wait(Path(ms): Path<u64>) -> String {
    time::sleep(Duration::from_millis(ms));
    format!("{ms} ms later\n")
}
