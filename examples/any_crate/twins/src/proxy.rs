//! Two thousand clients talk through a proxy to a server that echoes.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::sync::Barrier;

use crate::Failure;
use crate::measure::for_each;
use crate::serve::serve;

const CLIENTS: usize = 2_000;
const BYTES: usize = 20_000;

pub async fn run() -> Result<(), Failure> {
    let server = serve(echo).await?;
    let proxy = serve(move |stream| forward(stream, server)).await?;
    let all_here = Arc::new(Barrier::new(CLIENTS));
    let what = format!("{BYTES} bytes of each of {CLIENTS} clients came back through the proxy");
    for_each(&what, CLIENTS, move |n| talk(n, proxy, all_here.clone())).await
}

async fn forward(mut client: TcpStream, server: SocketAddr) -> Result<(), Failure> {
    let mut server = TcpStream::connect(server).await?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

async fn echo(mut stream: TcpStream) -> Result<(), Failure> {
    let (mut reader, mut writer) = stream.split();
    copy(&mut reader, &mut writer).await?;
    Ok(writer.shutdown().await?)
}

async fn talk(n: usize, proxy: SocketAddr, all_here: Arc<Barrier>) -> Result<(), Failure> {
    let mut stream = TcpStream::connect(proxy).await?;
    all_here.wait().await;
    let sent: Vec<u8> = (0..BYTES).map(|i| (i * 7 + n) as u8).collect();
    let mut received = Vec::new();
    stream.write_all(&sent).await?;
    stream.shutdown().await?;
    stream.read_to_end(&mut received).await?;
    assert!(received == sent, "another answer");
    Ok(())
}
