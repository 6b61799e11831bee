//! Profiles of a program whose behaviour is known. A hundred goroutines spend 70, 20 and 10 % of
//! their time in three functions; 25 of them work for `ann`, 25 for `bob`, 50 for `eve`. Then they
//! wait for a lock that one function holds.
//!
//! ```text
//!     CARGO_PROFILE_RELEASE_DEBUG=limited \
//!         cargo run --release --features pprof --example profile /tmp
//!     go tool pprof -top -cum /tmp/cpu.pb.gz
//!     go tool pprof -tags /tmp/cpu.pb.gz
//!     go tool pprof -http=:8000 /tmp/mutex.pb.gz
//! ```

#![forbid(unsafe_code)]

use std::env;
use std::hint::black_box;
use std::io;
use std::path::Path;
use std::time::Duration;

use gosched::fs::File;
use gosched::labels::with_labels;
use gosched::pprof::{self, Profile};
use gosched::sync::Mutex;
use gosched::{go, time, yield_now};

/// The users, and the number of goroutines for each.
const USERS: [(&str, usize); 3] = [("ann", 25), ("bob", 25), ("eve", 50)];

/// The rounds that each goroutine computes.
const ROUNDS: u64 = 1500;
const STEPS: u64 = 20_000;

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).unwrap_or(".".into());
    gosched::run(|| profile(Path::new(&folder)))
}

fn profile(folder: &Path) -> io::Result<()> {
    // This gives some thousand samples: with fewer, percentages are off by more than a few points.
    pprof::set_cpu_profile_rate(250);
    pprof::set_block_profile_rate(1);
    pprof::set_mutex_profile_fraction(1);
    pprof::start_cpu_profile()?;
    compute();
    pprof::stop_cpu_profile(&mut File::create(folder.join("cpu.pb.gz"))?)?;
    wait_for_each_other();
    for profile in Profile::ALL {
        profile.write_to(&mut File::create(folder.join(format!("{profile}.pb.gz")))?)?;
    }
    Ok(())
}

fn compute() {
    let mut all = Vec::new();
    for (user, goroutines) in USERS {
        with_labels([("user", user)], || all.extend((0..goroutines).map(|_| go(serve))));
    }
    all.into_iter().for_each(|one| one.join().unwrap());
}

fn serve() {
    for _ in 0..ROUNDS {
        seventy();
        twenty();
        ten();
        yield_now();
    }
}

#[inline(never)]
fn seventy() {
    black_box(work(7 * STEPS));
}

#[inline(never)]
fn twenty() {
    black_box(work(2 * STEPS));
}

#[inline(never)]
fn ten() {
    black_box(work(STEPS));
}

fn work(steps: u64) -> u64 {
    (0..steps).fold(1, |sum: u64, step| black_box(sum.wrapping_mul(31) ^ step))
}

fn wait_for_each_other() {
    static LOCK: Mutex<()> = Mutex::new(());

    #[inline(never)]
    fn holds() {
        let held = LOCK.lock();
        time::sleep(Duration::from_millis(10));
        drop(held);
        black_box(());
    }

    let all: Vec<_> = (0..10).map(|_| go(holds)).collect();
    all.into_iter().for_each(|one| one.join().unwrap());
}
