//! A soak of futexes, which park goroutines: `src/runtime/stdpark`. Goroutines and threads wait at
//! the same words and wake each other by each operation of `futex`. At the end the wakes that the
//! calls have counted are the waits that were woken, exactly, and all tokens are there.
//!
//! Beside them connections change in all ways that a wait heeds, programs are run, and a signal
//! comes a thousand times a second.
//!
//! | variable | |
//! | --- | --- |
//! | `SOAK_SECONDS` | how long each process runs, 10 by default |
//! | `SOAK_FORKS` | if set, a thread forks in a loop |
//! | `STRESS_SEED` | the seed; by default, another one each time |
//! | `GOMAXPROCS` | if set, one process runs with it; otherwise one for each of several settings |

mod children;
mod forks;
mod futex;
mod handlers;
mod ledger;
#[path = "../common/rng.rs"]
mod random;
mod talks;
mod tokens;
mod words;

use std::env;
use std::fs;
use std::process::{self, Command};
use std::thread;
use std::time::{Duration, Instant};

use gosched::metrics;
use random::{Rng, number, seed};

/// The numbers of goroutines, and of threads, of each kind.
const AT_WORDS: [usize; 2] = [40, 4];
const WITH_TOKENS: [usize; 2] = [40, 4];
const TALKING: [usize; 2] = [20, 2];
const WITH_CHILDREN: [usize; 2] = [2, 1];

/// The time after which a process without progress has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// The work of a goroutine or a thread until the given time.
type Worker = fn(Rng, Instant);

fn main() {
    let length = Duration::from_secs(number("SOAK_SECONDS").unwrap_or(10));
    if env::var_os("GOMAXPROCS").is_some() {
        return soak(seed(), length);
    }
    for procs in ["1", "2", "8"] {
        with_settings(procs, &[]);
        with_settings(procs, &[("GODEBUG", "detach=2")]);
        with_settings(procs, &[("SOAK_FORKS", "1")]);
    }
}

/// Runs the soak in a process with these settings.
fn with_settings(procs: &str, more: &[(&str, &str)]) {
    let mut child = Command::new(env::current_exe().expect("Linux has it"));
    child.env("GOMAXPROCS", procs).envs(more.iter().copied());
    let status = child.status().expect("a process can be made");
    assert!(status.success(), "GOMAXPROCS={procs} {more:?}: {status}");
}

/// Runs the soak with the settings of this process.
fn soak(seed: u64, length: Duration) {
    let settings = ["GOMAXPROCS", "GODEBUG", "SOAK_FORKS"]
        .map(|name| env::var(name).map_or(String::new(), |value| format!("{name}={value} ")));
    println!("{}STRESS_SEED={seed}", settings.concat());
    gosched::park_std_waits().expect("no sanitizer, and a kernel of this age");
    thread::spawn(watch);
    let (mut rng, end) = (Rng::new(seed), Instant::now() + length);
    tokens::put();
    let bytes = handlers::begin();
    // The goroutines' work, the threads' work, and the numbers of both.
    let workers: [([Worker; 2], _); 4] = [
        ([words::work; 2], AT_WORDS),
        ([tokens::work; 2], WITH_TOKENS),
        ([talks::on_goroutines, talks::on_threads], TALKING),
        ([children::work; 2], WITH_CHILDREN),
    ];
    let parks = thread::scope(|threads| {
        if env::var_os("SOAK_FORKS").is_some() {
            threads.spawn(move || forks::work(end));
        }
        for ([_, work], [_, n]) in workers {
            for rng in (0..n).map(|_| rng.fork()) {
                threads.spawn(move || work(rng, end));
            }
        }
        gosched::run(|| {
            gosched::scope(|goroutines| {
                goroutines.go(move || handlers::wait_for_wakes(end));
                goroutines.go(move || handlers::read_bytes(bytes, end));
                for ([work, _], [n, _]) in workers {
                    for rng in (0..n).map(|_| rng.fork()) {
                        goroutines.go(move || work(rng, end));
                    }
                }
            });
            parks()
        })
    });
    println!("{}; {parks} parks, {} threads", ledger::report(), threads());
    ledger::settle();
    tokens::count_all();
}

/// How often goroutines have parked at futexes.
fn parks() -> u64 {
    match metrics::read("/gosched/std/futex:waits") {
        Some(metrics::Value::Uint64(parks)) => parks,
        other => panic!("the metric is {other:?}"),
    }
}

/// Aborts the process when there is no more progress. It runs on a thread, by that thread's clock,
/// so a lost wake can't hold it up.
fn watch() {
    let (mut seen, mut since) = (ledger::report(), Instant::now());
    loop {
        thread::sleep(Duration::from_secs(1));
        let now = ledger::report();
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
        if since.elapsed() > PATIENCE {
            eprintln!("hangs: {seen}; {} threads", threads());
            process::abort();
        }
    }
}

/// How many threads this process has.
fn threads() -> usize {
    fs::read_dir("/proc/self/task").expect("Linux has it").count()
}
