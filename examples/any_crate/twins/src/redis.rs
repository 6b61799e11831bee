//! Tasks set and get five thousand keys by a pool of connections. The server is in this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bb8::Pool;
use redis::{AsyncCommands, Client};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;

use crate::Failure;
use crate::measure::for_each;
use crate::serve::serve;

const CLIENTS: usize = 5_000;
const CONNECTIONS: u32 = 64;
const PATIENCE: Duration = Duration::from_secs(300);

pub async fn run() -> Result<(), Failure> {
    let values = Arc::new(Values::default());
    let address = serve(move |stream| converse(stream, values.clone())).await?;
    let client = Manager(Client::open(format!("redis://{address}"))?);
    let builder = Pool::builder().max_size(CONNECTIONS).min_idle(CONNECTIONS);
    let pool = builder.connection_timeout(PATIENCE).build(client).await?;
    let what = format!("{CLIENTS} keys set and read at once by {CONNECTIONS} connections");
    for_each(&what, CLIENTS, move |n| {
        let pool = pool.clone();
        async move {
            let mut connection = pool.get().await?;
            let (key, value) = (format!("key {n}"), format!("value {n}"));
            let () = connection.set(&key, &value).await?;
            assert_eq!(connection.get::<_, String>(&key).await?, value);
            Ok(())
        }
    })
    .await
}

/// Makes connections for the pool, and checks that a connection lives before it is used.
struct Manager(Client);

impl bb8::ManageConnection for Manager {
    type Connection = redis::aio::MultiplexedConnection;
    type Error = redis::RedisError;

    async fn connect(&self) -> Result<Self::Connection, Self::Error> {
        self.0.get_multiplexed_async_connection().await
    }

    async fn is_valid(&self, connection: &mut Self::Connection) -> Result<(), Self::Error> {
        redis::cmd("PING").query_async(connection).await
    }

    fn has_broken(&self, _: &mut Self::Connection) -> bool {
        false
    }
}

type Values = Mutex<HashMap<Vec<u8>, Vec<u8>>>;

async fn converse(stream: TcpStream, values: Arc<Values>) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    while let Some(command) = command(&mut reader).await? {
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
            _ => b"-ERR unknown command\r\n".to_vec(),
        };
        writer.write_all(&answer).await?;
    }
    Ok(())
}

async fn command(reader: &mut BufReader<OwnedReadHalf>) -> Result<Option<Vec<Vec<u8>>>, Failure> {
    let Some(n) = number_after('*', reader).await? else { return Ok(None) };
    let mut words = Vec::new();
    for _ in 0..n {
        let len = number_after('$', reader).await?.ok_or("the end")?;
        let mut word = vec![0; len + 2];
        reader.read_exact(&mut word).await?;
        word.truncate(len);
        words.push(word);
    }
    Ok(Some(words))
}

async fn number_after(mark: char, reader: &mut BufReader<OwnedReadHalf>) -> Result<Option<usize>, Failure> {
    let mut line = String::new();
    if reader.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let number = line.strip_prefix(mark).and_then(|number| number.trim_end().parse().ok());
    number.map(Some).ok_or_else(|| "no number".into())
}
