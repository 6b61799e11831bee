//! Everything at once. Every 20 µs, a signal to each thread with a P takes that P away. All ledgers
//! are exact in the end.
//!
//! For a long run, set `STRESS_SECONDS`, the time of each test.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use gosched::time::sleep;
use gosched::{run, scope};

use super::detachments;
use super::scenarios::SCENARIOS;
use crate::harness::goroutines::others_ended;
use crate::harness::polled::MS;
use crate::harness::rng::{Rng, number};
use crate::harness::{Test, rounds, tests};

tests! {
    with_one_p
    with_two_ps
    with_eight_ps
}

static OVER: AtomicBool = AtomicBool::new(false);

/// Returns whether it is time to end.
fn over() -> bool {
    OVER.load(Ordering::Relaxed)
}

fn torture(test: Test, procs: usize) {
    let process = test.process(|| {
        let mut rng = Rng::seeded();
        let least = number("STRESS_SECONDS").map(Duration::from_secs);
        let least = least.unwrap_or(Duration::from_millis(rounds(2_000) as u64));
        let done: Vec<AtomicU64> = SCENARIOS.iter().map(|_| AtomicU64::new(0)).collect();
        run(|| {
            scope(|s| {
                for ((_, scenario), done) in SCENARIOS.iter().zip(&done) {
                    let mut rng = rng.fork();
                    s.go(move || {
                        while !over() {
                            done.fetch_add(scenario(&mut rng, procs), Ordering::Relaxed);
                        }
                    });
                }
                sleep(least);
                // Waits until each kind of work is done, which takes long on a slow machine.
                while done.iter().any(|done| done.load(Ordering::Relaxed) == 0) {
                    sleep(MS);
                }
                OVER.store(true, Ordering::Relaxed);
            });
            others_ended();
        });
        for ((name, _), done) in SCENARIOS.iter().zip(&done) {
            eprint!("{name} {}, ", done.load(Ordering::Relaxed));
        }
        eprintln!("with {procs} P's; {} detachments", detachments());
    });
    let ended = process.env("GOMAXPROCS", &procs.to_string()).env("GODEBUG", "detach=2").end();
    ended.with("exit status: 0");
    eprint!("{}", ended.stderr);
}

fn with_one_p(test: Test) {
    torture(test, 1);
}

fn with_two_ps(test: Test) {
    torture(test, 2);
}

fn with_eight_ps(test: Test) {
    torture(test, 8);
}
