//! Servers: each connection has a task.

use std::future::Future;
use std::net::SocketAddr;

use tokio::net::{TcpSocket, TcpStream};

use crate::Failure;

/// Begins to serve at a new port.
pub async fn serve<F, R>(converse: F) -> Result<SocketAddr, Failure>
where
    F: Fn(TcpStream) -> R + Send + 'static,
    R: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    let listener = socket.listen(4096)?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            let conversation = converse(stream);
            tokio::spawn(async move {
                if let Err(error) = conversation.await {
                    eprintln!("a connection has failed: {error}");
                }
            });
        }
    });
    Ok(address)
}
