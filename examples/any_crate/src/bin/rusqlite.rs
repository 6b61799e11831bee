//! Five thousand goroutines write to one SQLite database, each by a connection of its own. A
//! goroutine that finds it locked sleeps in SQLite's busy handler, which is C, and holds no thread.
//! Most of the time nobody writes, because the handler pauses for up to 100 ms, on threads as on
//! goroutines.
//!
//! ```text
//! cargo run --release --bin rusqlite
//! cargo run --release --bin rusqlite -- --threads
//! ```

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, process};

use any_crate::{Failure, for_each, measure, run};
use rusqlite::{Connection, TransactionBehavior};

const WRITERS: usize = 5_000;

/// The longest time that a writer tries. SQLite doesn't serve writers in order.
const PATIENCE: Duration = Duration::from_secs(300);

fn main() -> Result<(), Failure> {
    let folder = Folder(env::temp_dir().join(format!("any_crate-{}", process::id())));
    fs::create_dir(&folder.0)?;
    run(|| write_all(folder.0.join("sums.db")))
}

/// A folder that exists as long as this value.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

fn write_all(file: PathBuf) -> Result<(), Failure> {
    open(&file)?
        .execute_batch("CREATE TABLE sums (n INTEGER, sum INTEGER); INSERT INTO sums VALUES (0, 0)")?;
    let what = format!("a transaction of each of {WRITERS} writers");
    measure(&what, 0, || {
        let file = file.clone();
        for_each(WRITERS, move |n| {
            let mut connection = open(&file)?;
            // The transaction takes the lock before it reads, so nobody writes between its read and
            // its write.
            let all = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let (count, sum) = read(&all)?;
            all.execute("UPDATE sums SET n = ?1, sum = ?2", (count + 1, sum + n as i64))?;
            all.commit()?;
            Ok(())
        })
    })?;
    let sum = WRITERS * (WRITERS - 1) / 2;
    assert_eq!(read(&open(&file)?)?, (WRITERS as i64, sum as i64));
    Ok(())
}

fn open(file: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(PATIENCE)?;
    // The file needn't survive a crash of the machine.
    connection.pragma_update(None, "synchronous", "OFF")?;
    Ok(connection)
}

/// Returns the number of transactions, and the sum of what they have added.
fn read(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    connection.query_row("SELECT n, sum FROM sums", (), |row| Ok((row.get(0)?, row.get(1)?)))
}
