//! Five thousand pages from a server that takes 50 ms for each answer.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::Failure;
use crate::measure::for_each;
use crate::serve::serve;

const PAGES: usize = 5_000;
const LATENCY: Duration = Duration::from_millis(50);

pub async fn run() -> Result<(), Failure> {
    let address = serve(answer).await?;
    let client = reqwest::Client::builder().no_proxy().build()?;
    for_each(&format!("{PAGES} pages, {PAGES} at once"), PAGES, move |n| {
        let client = client.clone();
        async move {
            let page = client.get(format!("http://{address}/{n}")).send().await?.text().await?;
            assert_eq!(page, page_at(&format!("/{n}")));
            Ok(())
        }
    })
    .await
}

async fn answer(stream: TcpStream) -> Result<(), Failure> {
    let mut stream = BufReader::new(stream);
    let mut request = String::new();
    stream.read_line(&mut request).await?;
    let mut line = String::new();
    while stream.read_line(&mut line).await? > 2 {
        line.clear();
    }
    sleep(LATENCY).await;
    let page = page_at(request.split(' ').nth(1).ok_or("a request without a path")?);
    let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", page.len());
    Ok(stream.write_all((head + &page).as_bytes()).await?)
}

fn page_at(path: &str) -> String {
    format!("the page {path}\n").repeat(100)
}
