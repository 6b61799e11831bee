//! Five thousand goroutines query PostgreSQL by the crate `postgres`, and share the eight
//! connections of an r2d2 pool.
//!
//! ```text
//! cargo run --release --bin postgres
//! DATABASE_URL=postgres://user@localhost/database cargo run --release --bin postgres -- --threads
//! ```
//!
//! Without the variable, the program starts a server of its own, with its files in a temporary
//! folder.

#![forbid(unsafe_code)]

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use any_crate::{Failure, for_each, measure, run};
use postgres::NoTls;
use r2d2::Pool;
use r2d2_postgres::PostgresConnectionManager;
use rustix::process::getuid;

const QUERIES: usize = 5_000;
const CONNECTIONS: u32 = 8;

/// The longest time that a goroutine waits for a connection.
const PATIENCE: Duration = Duration::from_secs(300);

fn main() -> Result<(), Failure> {
    run(|| {
        if let Ok(url) = env::var("DATABASE_URL") {
            return ask_all(&url);
        }
        let Some(server) = Server::start()? else {
            println!("skipped: there is no initdb, and no DATABASE_URL");
            return Ok(());
        };
        ask_all(&server.url)
    })
}

fn ask_all(url: &str) -> Result<(), Failure> {
    let manager = PostgresConnectionManager::new(url.parse()?, NoTls);
    // The pool's own threads make the connections, and goroutines use them.
    let pool = Pool::builder().max_size(CONNECTIONS).connection_timeout(PATIENCE).build(manager)?;
    let what = format!("{QUERIES} queries at once by {CONNECTIONS} connections");
    // The pool has three threads. A connection may have one more, to look up the server's name.
    measure(&what, 3 + CONNECTIONS as usize, || {
        for_each(QUERIES, move |n| {
            let n = n as i64;
            let row = pool.get()?.query_one("SELECT $1::INT8 * $1", &[&n])?;
            assert_eq!(row.get::<_, i64>(0), n * n);
            Ok(())
        })
    })
}

/// A server that runs as long as this value lives. Clients reach it by a socket in its folder, so
/// no other program can have its port.
struct Server {
    /// Stops the server when the shell's standard input ends, as it does if this process dies.
    shell: Child,
    url: String,
}

/// Starts a server, prints its folder, and stops the server at the end of the standard input. A
/// signal to all of the terminal's processes doesn't end the server sooner.
const SCRIPT: &str = r#"
    set -eu
    trap '' INT TERM
    place=$(mktemp -d)
    chmod 755 "$place"
    trap 'rm -rf "$place"' EXIT
    cd "$place"
    initdb -D data -U postgres --auth=trust --no-sync >&2
    pg_ctl -D data -l log -w -o "-F -c listen_addresses='' -c unix_socket_directories='$place'" start >&2
    echo "$place"
    read -r _ || pg_ctl -D data -m immediate stop >&2
"#;

impl Server {
    /// Starts a server. Returns none if this machine has no PostgreSQL.
    fn start() -> Result<Option<Server>, Failure> {
        let Some(bin) = folder_of_initdb() else { return Ok(None) };
        let path = format!("{}:{}", bin.display(), env::var("PATH")?);
        // PostgreSQL refuses to run as root.
        let as_postgres: &[_] = if getuid().is_root() { &["runuser", "-u", "postgres", "--"] } else { &[] };
        let words = [as_postgres, &["sh", "-c", SCRIPT]].concat();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("PATH", path);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = command.spawn()?;
        let mut place = String::new();
        BufReader::new(shell.stdout.take().expect("a pipe")).read_line(&mut place)?;
        if place.is_empty() {
            return Err(format!("the server hasn't started: {}", shell.wait()?).into());
        }
        let url = format!("host={} user=postgres", place.trim_end());
        Ok(Some(Server { shell, url }))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        self.shell.wait().expect("it is our child");
    }
}

/// Finds the folder of `initdb`: one of the path's, or Debian's.
fn folder_of_initdb() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders = env::split_paths(&path).chain(versions.map(|version| version.path().join("bin")));
    folders.into_iter().find(|folder| folder.join("initdb").exists())
}
