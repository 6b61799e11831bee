//! sqlx: ten thousand goroutines query a database by the eight connections of a pool. The database
//! is SQLite, in a file of the program's own, or the one that the argument names.
//!
//! ```text
//! cargo run --release --bin sqlx
//! cargo run --release --bin sqlx -- postgres://user@localhost/database
//! ```

#![forbid(unsafe_code)]

use std::time::Duration;
use std::{env, fs, process};

use async_crates::{Failure, REQUESTS, compare, in_task};
use gosched::tokio::block_on;
use sqlx::AnyPool;
use sqlx::any::{AnyPoolOptions, install_default_drivers};

/// The number of connections. sqlx makes a thread for each connection to SQLite.
const CONNECTIONS: u32 = 8;

/// The longest time that a goroutine waits for a connection, behind all others.
const PATIENCE: Duration = Duration::from_secs(300);

fn main() -> Result<(), Failure> {
    install_default_drivers();
    match env::args().nth(1) {
        Some(url) => ask_all(&url),
        None => {
            let file = env::temp_dir().join(format!("squares-{}.db", process::id()));
            let result = ask_all(&format!("sqlite:{}?mode=rwc", file.display()));
            let removed = fs::remove_file(file);
            result?;
            Ok(removed?)
        }
    }
}

fn ask_all(url: &str) -> Result<(), Failure> {
    gosched::run(|| {
        let pool = block_on(open(url))?;
        let ask = {
            let pool = pool.clone();
            move |n| square(pool.clone(), n as i64)
        };
        compare(|n| in_task(ask(n)), ask.clone())?;
        block_on(async {
            sqlx::query("DROP TABLE squares").execute(&pool).await?;
            pool.close().await;
            Ok(())
        })
    })
}

/// Returns a connected pool. The database has a new table of squares.
async fn open(url: &str) -> Result<AnyPool, Failure> {
    let pool =
        AnyPoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(PATIENCE).connect(url).await?;
    sqlx::query("CREATE TABLE squares (n BIGINT PRIMARY KEY, square BIGINT NOT NULL)").execute(&pool).await?;
    let mut all = pool.begin().await?;
    for n in 0..REQUESTS as i64 {
        sqlx::query("INSERT INTO squares VALUES ($1, $2)").bind(n).bind(n * n).execute(&mut *all).await?;
    }
    all.commit().await?;
    Ok(pool)
}

/// Queries a square, and checks it.
async fn square(pool: AnyPool, n: i64) -> Result<(), Failure> {
    let query = sqlx::query_scalar("SELECT square FROM squares WHERE n = $1");
    let square: i64 = query.bind(n).fetch_one(&pool).await?;
    assert_eq!(square, n * n);
    Ok(())
}
