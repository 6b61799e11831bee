//! The programs of `any_crate` as tasks of tokio. Each prints what its twin prints.
//!
//! ```text
//! cargo run --release -- crawler|proxy|redis|websocket
//! DATABASE_URL=postgres://user@localhost/database cargo run --release -- postgres
//! ```

#![forbid(unsafe_code)]

mod crawler;
mod measure;
mod postgres;
mod proxy;
mod redis;
mod serve;
mod websocket;

use std::env;
use std::error::Error;

use rustix::process::{Resource, getrlimit, setrlimit};

/// An error of any kind.
type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit)?;
    match env::args().nth(1).as_deref() {
        Some("crawler") => crawler::run().await,
        Some("postgres") => postgres::run().await,
        Some("proxy") => proxy::run().await,
        Some("redis") => redis::run().await,
        Some("websocket") => websocket::run().await,
        _ => Err("crawler, postgres, proxy, redis or websocket".into()),
    }
}
