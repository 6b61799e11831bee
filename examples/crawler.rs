//! A crawler: a goroutine for each page, at most eight at a time, and at most one request each
//! millisecond. It ends early at the first error, or after ten seconds. The site is in the same
//! program: it has a page for each number below 200, with links to others. [The same in
//! Go](go/crawler/main.go).
//!
//! ```text
//! cargo run --release --example crawler
//! ```

#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use gosched::context::Context;
use gosched::net::{TcpListener, TcpStream};
use gosched::sync::{ErrGroup, Mutex, err_group};
use gosched::time::Ticker;

/// The number of pages.
const PAGES: u32 = 200;

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    gosched::run(|| {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let addr = listener.local_addr()?;
        gosched::go(move || {
            for stream in listener.incoming() {
                gosched::go(|| serve(stream?));
            }
            Ok::<(), io::Error>(())
        });
        let (ctx, _cancel) = Context::background().with_timeout(Duration::from_secs(10));
        let found = Vec::from_iter(crawl(&ctx, addr)?);
        println!("{} pages, from {} to {}", found.len(), found[0], found[found.len() - 1]);
        Ok(())
    })
}

/// Answers one request.
fn serve(mut stream: TcpStream) -> io::Result<()> {
    let mut request = String::new();
    BufReader::new(&stream).read_line(&mut request)?;
    let page: u32 = request.split(['/', ' ']).find_map(|word| word.parse().ok()).unwrap_or(0);
    let links = [page * 2 + 1, page * 2 + 2].map(|link| format!("<a href=/{}>", link % PAGES));
    let body = links.concat();
    write!(stream, "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// The state of a crawl.
struct Crawl {
    addr: SocketAddr,
    seen: Mutex<BTreeSet<u32>>,
    rate: Ticker,
}

/// Returns all pages that can be reached from the first.
fn crawl(ctx: &Context, addr: SocketAddr) -> Result<BTreeSet<u32>, Failure> {
    let rate = Ticker::new(Duration::from_millis(1));
    let crawl = Crawl { addr, seen: Mutex::new(BTreeSet::from([0])), rate };
    let mut pages = vec![0];
    while !pages.is_empty() {
        let next = Mutex::new(Vec::new());
        err_group(ctx, |group: &ErrGroup<'_, '_, Failure>| {
            group.set_limit(8);
            for page in pages {
                let (crawl, next) = (&crawl, &next);
                group.go(move |ctx| {
                    let links = crawl.links(ctx, page)?;
                    let mut seen = crawl.seen.lock();
                    next.lock().extend(links.into_iter().filter(|&link| seen.insert(link)));
                    Ok(())
                });
            }
            Ok(())
        })?;
        pages = next.into_inner();
    }
    Ok(crawl.seen.into_inner())
}

impl Crawl {
    /// Returns the links of a page.
    fn links(&self, ctx: &Context, page: u32) -> Result<Vec<u32>, Failure> {
        ctx.with(self.rate.c()).recv()?;
        let stream = TcpStream::begin_connect(&self.addr)?;
        let mut stream = ctx.with(&stream);
        stream.finish_connect()?;
        write!(stream, "GET /{page} HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let links = answer.split("href=/").skip(1).filter_map(|link| link.split('>').next()?.parse().ok());
        Ok(links.collect())
    }
}
