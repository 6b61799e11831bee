//! Five thousand goroutines set and get a key each by the crate `redis`, over a pool of connections
//! by r2d2. The server is a small one, in this process.
//!
//! ```text
//! cargo run --release --bin redis
//! cargo run --release --bin redis -- --threads
//! ```

#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::Duration;

use any_crate::{Failure, for_each, measure, run, serve};
use r2d2::Pool;
use redis::{Client, Commands};

const CLIENTS: usize = 5_000;
const CONNECTIONS: u32 = 64;

/// The longest time that a goroutine waits for a connection.
const PATIENCE: Duration = Duration::from_secs(300);

fn main() -> Result<(), Failure> {
    run(|| {
        let values = Values::default();
        let address = serve(move |stream| converse(&stream, &values))?;
        let client = Client::open(format!("redis://{address}"))?;
        let pool = Pool::builder().max_size(CONNECTIONS).connection_timeout(PATIENCE).build(client)?;
        let what = format!("{CLIENTS} keys set and read at once by {CONNECTIONS} connections");
        // The pool has three threads.
        measure(&what, 3, || {
            for_each(CLIENTS, move |n| {
                // The pool sends a PING before it hands out a connection.
                let mut connection = pool.get()?;
                let (key, value) = (format!("key {n}"), format!("value {n}"));
                let () = connection.set(&key, &value)?;
                assert_eq!(connection.get::<_, String>(&key)?, value);
                Ok(())
            })
        })
    })
}

/// The server's keys and values.
type Values = Mutex<HashMap<Vec<u8>, Vec<u8>>>;

/// Answers the commands of a connection.
fn converse(stream: &TcpStream, values: &Values) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    while let Some(command) = command(&mut reader)? {
        let answer = match &command[..] {
            [name] if name == b"PING" => b"+PONG\r\n".to_vec(),
            [name, key, value] if name == b"SET" => {
                values.lock().unwrap().insert(key.clone(), value.clone());
                b"+OK\r\n".to_vec()
            }
            [name, key] if name == b"GET" => match values.lock().unwrap().get(key) {
                Some(value) => [format!("${}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat(),
                None => b"$-1\r\n".to_vec(),
            },
            // A client sends its name and version first, and ignores the error.
            _ => b"-ERR unknown command\r\n".to_vec(),
        };
        writer.write_all(&answer)?;
    }
    Ok(())
}

/// Returns the next command and its arguments, or none if the client has closed the connection. A
/// command comes as an array of strings: `*1\r\n$4\r\nPING\r\n`.
fn command(reader: &mut impl BufRead) -> io::Result<Option<Vec<Vec<u8>>>> {
    let Some(words) = number_after('*', reader)? else { return Ok(None) };
    let word = |_| {
        let len = number_after('$', reader)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut word = vec![0; len + 2];
        reader.read_exact(&mut word)?;
        word.truncate(len);
        Ok(word)
    };
    (0..words).map(word).collect::<io::Result<_>>().map(Some)
}

/// Returns the number in a line that begins with `mark`, or none at the end.
fn number_after(mark: char, reader: &mut impl BufRead) -> io::Result<Option<usize>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let number = line.strip_prefix(mark).and_then(|number| number.trim_end().parse().ok());
    number.map(Some).ok_or(io::ErrorKind::InvalidData.into())
}
