//! A WebSocket server that sends each message to all its clients: two tasks for each.

use futures_util::{SinkExt, StreamExt};
use gosched_benches::Args;
use gosched_benches::fanout::{QUEUE, WORKLOAD, clients, config};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::spawn;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{Sender, channel};
use tokio_tungstenite::accept_async_with_config;
use tungstenite::Message;

use crate::serve;

pub fn run(args: &Args, runtime: &Runtime) {
    if args.names(WORKLOAD.0) {
        clients(args, runtime.block_on(serve(converse)));
    }
}

/// The queue of each client.
static CLIENTS: Mutex<Vec<Sender<Message>>> = Mutex::const_new(Vec::new());

async fn converse(stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let (queue, mut messages) = channel(QUEUE);
    // Before the client knows that it is connected: it gets every message from then on.
    CLIENTS.lock().await.push(queue);
    let socket = accept_async_with_config(stream, Some(config())).await.unwrap();
    let (mut writer, mut reader) = socket.split();
    spawn(async move {
        while let Some(message) = messages.recv().await {
            if writer.send(message).await.is_err() {
                return;
            }
        }
    });
    while let Some(Ok(message @ Message::Binary(_))) = reader.next().await {
        for client in &*CLIENTS.lock().await {
            // A client that is gone needs no message.
            let _ = client.send(message.clone()).await;
        }
    }
}
