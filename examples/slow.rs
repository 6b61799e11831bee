//! A service with a slow request now and then. A flight recorder keeps the events just before it,
//! in which [docs/guide/looking-inside.md](../docs/guide/looking-inside.md) finds the cause.
//!
//! ```text
//!     CARGO_PROFILE_RELEASE_DEBUG=limited cargo run --release --example slow slow.trace
//!     go tool trace slow.trace
//! ```

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use gosched::chan::{Sender, bounded};
use gosched::sync::Mutex;
use gosched::time::sleep;
use gosched::trace::{FlightRecorder, Task};
use gosched::{Builder, blocking};

/// The longest time that a request may take.
const LIMIT: Duration = Duration::from_millis(20);

type Cache = Mutex<BTreeMap<u64, u64>>;

fn main() -> io::Result<()> {
    let path = env::args().nth(1).unwrap_or("slow.trace".into());
    gosched::run(|| {
        let mut recorder = FlightRecorder::new().min_age(Duration::from_secs(2));
        recorder.start()?;
        let cache = Arc::new(Cache::default());
        let (slow, slow_ones) = bounded(1);
        for handler in 0..4 {
            let (cache, slow) = (Arc::clone(&cache), slow.clone());
            Builder::new().name("handler").go(move || handle(&cache, handler, &slow))?;
        }
        Builder::new().name("writer").go(move || write(&cache))?;
        let took: Duration = slow_ones.recv().map_err(io::Error::other)?;
        let len = recorder.write_to(&mut File::create(&path)?)?;
        println!("a request took {took:?}: {len} bytes of trace in {path}");
        Ok(())
    })
}

/// Answers requests, and reports slow ones.
fn handle(cache: &Cache, handler: u64, slow: &Sender<Duration>) {
    for i in 0.. {
        sleep(Duration::from_micros(500 * (handler + 1)));
        let begun = Instant::now();
        let request = Task::new("request");
        {
            let _region = request.region("look up");
            cache.lock().insert(i % 100, i);
        }
        {
            let _region = request.region("render");
            std::hint::black_box((0..20_000).fold(i, |sum, n| sum.wrapping_mul(31) ^ n));
        }
        if begun.elapsed() > LIMIT && slow.send(begun.elapsed()).is_err() {
            return;
        }
    }
}

/// Writes the cache to disk from time to time, and keeps it locked meanwhile: that is the bug.
fn write(cache: &Cache) {
    loop {
        sleep(Duration::from_millis(150));
        let cache = cache.lock();
        let _region = gosched::trace::region("write");
        blocking(|| thread::sleep(Duration::from_millis(30 + cache.len() as u64 / 50)));
    }
}
