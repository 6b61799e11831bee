//! sqlx: ten thousand goroutines ask a database, SQLite, by the eight connections of a pool.
//!
//! ```text
//! cargo run --release --bin sqlx
//! ```

#![forbid(unsafe_code)]

use std::path::Path;
use std::time::Duration;
use std::{env, fs, process};

use async_crates::{Failure, REQUESTS, compare};
use gosched::tokio::block_on;
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};

/// Each of SQLite's has a thread, which sqlx makes.
const CONNECTIONS: u32 = 8;

/// How long one waits for a connection while all others are before it.
const PATIENCE: Duration = Duration::from_secs(300);

fn main() -> Result<(), Failure> {
    let file = env::temp_dir().join(format!("squares-{}.db", process::id()));
    let result: Result<_, Failure> = gosched::run(|| {
        let pool = block_on(open(&file))?;
        let ask = {
            let pool = pool.clone();
            move |n| square(pool.clone(), n as i64)
        };
        compare(ask.clone(), ask)?;
        block_on(pool.close());
        Ok(())
    });
    let removed = fs::remove_file(file);
    result?;
    Ok(removed?)
}

/// A new database, with a table of squares.
async fn open(file: &Path) -> Result<SqlitePool, Failure> {
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
    let pool = SqlitePoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(PATIENCE);
    let pool = pool.connect_with(options).await?;
    sqlx::query("CREATE TABLE squares (n INTEGER PRIMARY KEY, square INTEGER NOT NULL)")
        .execute(&pool)
        .await?;
    let mut all = pool.begin().await?;
    for n in 0..REQUESTS as i64 {
        sqlx::query("INSERT INTO squares VALUES (?, ?)").bind(n).bind(n * n).execute(&mut *all).await?;
    }
    all.commit().await?;
    Ok(pool)
}

/// Asks for a square, and checks it.
async fn square(pool: SqlitePool, n: i64) -> Result<(), Failure> {
    let query = sqlx::query_scalar("SELECT square FROM squares WHERE n = ?");
    let square: i64 = query.bind(n).fetch_one(&pool).await?;
    assert_eq!(square, n * n);
    Ok(())
}
