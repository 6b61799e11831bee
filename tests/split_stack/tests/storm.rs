//! Random cases at random depths, on eight goroutines at a time, with two P's.
//!
//! | variable | |
//! | --- | --- |
//! | `STRESS_SECONDS` | how many seconds each process runs: 5 by default |
//! | `STRESS_SEED` | the seed; by default a new one each time |

#[allow(dead_code, unused_imports, reason = "the suite's tests need more of it")]
#[path = "../../suite/harness/mod.rs"]
mod harness;

use std::time::{Duration, Instant};

use gosched::run;
use gosched_split_stack::{
    Call, Case, FreshStack, Partner, Reference, Settings, available, cases, count_moves, flavours, moves,
    references,
};
use harness::Test;
use harness::asked::run_asked;
use harness::rng::random::{Rng, number, seed};

harness::tests! {
    kept_stacks
    fresh_stacks
    moving_stacks
    stopped_goroutines
    stopped_goroutines_on_moving_stacks
}

fn main() -> std::process::ExitCode {
    harness::main(TESTS)
}

/// How many goroutines run cases at a time.
const GOROUTINES: usize = 8;

/// The seconds after its end at which a process is killed.
const PATIENCE: u64 = 300;

/// A stack that has grown is used again, for another goroutine.
fn kept_stacks(test: Test) {
    storm(test, false, "stackverify=1", 2000);
}

/// Each goroutine begins with a small stack.
fn fresh_stacks(test: Test) {
    storm(test, false, "stackkeep=0,stackverify=1,randomizescheduler=1", 2000);
}

/// Each check moves the stack.
fn moving_stacks(test: Test) {
    storm(test, false, "stackforcemove=1,stackverify=1,randomizescheduler=1", 50);
}

/// Goroutines are asked to stop all the time. They stop at their checks, and between any two
/// instructions.
fn stopped_goroutines(test: Test) {
    storm(test, true, "stackkeep=0,stackverify=1", 2000);
}

/// Each check moves the stack, and goroutines are asked to stop all the time.
fn stopped_goroutines_on_moving_stacks(test: Test) {
    storm(test, true, "stackforcemove=1,stackverify=1", 50);
}

fn storm(test: Test, asked: bool, godebug: &str, deep_levels: u64) {
    if !available() {
        return;
    }
    let seconds = number("STRESS_SECONDS").unwrap_or(5);
    let seed = seed();
    let process = test.process(|| {
        // SAFETY: only sets a timer.
        unsafe { libc::alarm((seconds + PATIENCE) as u32) };
        here(seed, seconds, asked, deep_levels);
    });
    println!("STRESS_SEED={seed} GODEBUG={godebug}");
    let process =
        process.env("GOMAXPROCS", "2").env("GODEBUG", godebug).env("STRESS_SEED", &seed.to_string());
    print!("{}", process.end().with("exit status: 0").says("moves").stderr);
}

/// Runs the storm in this process.
fn here(seed: u64, seconds: u64, asked: bool, deep_levels: u64) {
    let mut rng = Rng::new(seed);
    let settings = Settings { seed: rng.next(), levels: 30, deep_levels };
    let cases: Vec<Case> = flavours().into_iter().flat_map(cases).collect();
    let references = references(&cases, settings);
    let all: Vec<(Case, Reference)> = cases.into_iter().zip(references).collect();
    count_moves();
    let storm = || {
        let end = Instant::now() + Duration::from_secs(seconds);
        let fresh = FreshStack::measure();
        gosched::scope(|s| {
            let worker = |_| {
                let (mut rng, all) = (rng.fork(), &all);
                s.go(move || at_random(&mut rng, all, settings, fresh, end))
            };
            let workers: Vec<_> = (0..GOROUTINES).map(worker).collect();
            workers.into_iter().map(|worker| worker.join().expect("no worker panics")).sum::<usize>()
        })
    };
    let calls = if asked { run_asked(storm) } else { run(storm) };
    assert!(calls > 0 && moves() > 0);
    eprintln!("{calls} calls, {} moves", moves());
}

/// Runs one random case after the other until `end`, and returns how many.
fn at_random(
    rng: &mut Rng,
    all: &[(Case, Reference)],
    settings: Settings,
    fresh: FreshStack,
    end: Instant,
) -> usize {
    let partner = Partner::goroutines();
    let mut calls = 0;
    while Instant::now() < end {
        let (case, reference) = &all[rng.below(all.len())];
        let bytes = 16 * rng.below(fresh.lowest(reference) / 16 + 1);
        let result = Call::new(case, bytes, settings, &partner).on_a_goroutine();
        let Case { name, flavour, .. } = case;
        assert!(reference.agrees(result), "{name}, {flavour}, with {bytes} bytes less, after {calls} calls");
        calls += 1;
    }
    calls
}
