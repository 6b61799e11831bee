//! Five thousand goroutines fetch a page each by ureq, from a server on std's sockets that takes
//! 50 ms for each answer.
//!
//! ```text
//! cargo run --release --bin crawler
//! cargo run --release --bin crawler -- --threads
//! ```

#![forbid(unsafe_code)]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use any_crate::{Failure, connections, for_each, measure, run, serve};
use ureq::Agent;

const PAGES: usize = 5_000;

/// The time that the server takes for an answer.
const LATENCY: Duration = Duration::from_millis(50);

fn main() -> Result<(), Failure> {
    run(|| {
        let address = serve(answer)?;
        // With a timeout ureq would make a thread for each look-up of a name.
        // The server is in this process, so no proxy of the environment's is of use.
        let config = Agent::config_builder().proxy(None);
        // Pages are small, and so are the buffers of a connection. By default each has 256 KiB.
        let config = config.input_buffer_size(4 << 10).output_buffer_size(4 << 10);
        let agent = Agent::new_with_config(config.build());
        let at_once = connections(PAGES, 2);
        let permits = Permits { left: Mutex::new(at_once), given_back: Condvar::new() };
        measure(&format!("{PAGES} pages, {at_once} at once"), 0, || {
            for_each(PAGES, move |n| {
                permits.with(|| {
                    let page =
                        agent.get(format!("http://{address}/{n}")).call()?.into_body().read_to_string()?;
                    assert_eq!(page, page_at(&format!("/{n}")));
                    Ok(())
                })
            })
        })
    })
}

/// Answers the one request of a connection.
fn answer(mut stream: TcpStream) -> Result<(), Failure> {
    let mut request = String::new();
    let mut reader = BufReader::new(&stream);
    reader.read_line(&mut request)?;
    for line in reader.lines() {
        if line?.is_empty() {
            break;
        }
    }
    thread::sleep(LATENCY);
    let page = page_at(request.split(' ').nth(1).ok_or("a request without a path")?);
    let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", page.len());
    Ok(stream.write_all((head + &page).as_bytes())?)
}

fn page_at(path: &str) -> String {
    format!("the page {path}\n").repeat(100)
}

/// Limits simultaneous fetches by the number of descriptors.
struct Permits {
    left: Mutex<usize>,
    given_back: Condvar,
}

impl Permits {
    /// Waits for a permit, and calls `f`.
    fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        let left = self.left.lock().unwrap();
        *self.given_back.wait_while(left, |left| *left == 0).unwrap() -= 1;
        let result = f();
        *self.left.lock().unwrap() += 1;
        self.given_back.notify_one();
        result
    }
}
