//! Two thousand clients of a WebSocket server that echoes.

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::sync::Barrier;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{accept_async_with_config, client_async_with_config};

use crate::Failure;
use crate::measure::for_each;
use crate::serve::serve;

const CLIENTS: usize = 2_000;
const MESSAGES: usize = 4;

pub async fn run() -> Result<(), Failure> {
    let address = serve(echo).await?;
    let all_here = Arc::new(Barrier::new(CLIENTS));
    let what = format!("{} messages of {CLIENTS} clients came back", MESSAGES * CLIENTS);
    for_each(&what, CLIENTS, move |n| talk(n, address, all_here.clone())).await
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default().read_buffer_size(4 << 10).write_buffer_size(4 << 10)
}

async fn echo(stream: TcpStream) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let mut socket = accept_async_with_config(stream, Some(config())).await?;
    while let Some(message) = socket.next().await {
        if let message @ (Message::Text(_) | Message::Binary(_)) = message? {
            socket.send(message).await?;
        }
    }
    Ok(())
}

async fn talk(n: usize, address: SocketAddr, all_here: Arc<Barrier>) -> Result<(), Failure> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let url = format!("ws://{address}/");
    let (mut socket, _) = client_async_with_config(url, stream, Some(config())).await?;
    all_here.wait().await;
    for i in 0..MESSAGES {
        let message = match i % 2 {
            0 => Message::text(format!("message {i} of client {n}")),
            _ => Message::binary(vec![n as u8; n * i]),
        };
        socket.send(message.clone()).await?;
        assert_eq!(socket.next().await.ok_or("the end")??, message);
    }
    socket.close(None).await?;
    while let Some(message) = socket.next().await {
        message?;
    }
    Ok(())
}
