//! Cases at random, but for the seed: eight goroutines at a time, on two threads.
//!
//! | variable | |
//! | --- | --- |
//! | `STRESS_SECONDS` | how long each process runs, 5 at first |
//! | `STRESS_SEED` | the seed; without it, another one each time |

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

/// So many run at a time.
const GOROUTINES: usize = 8;

/// Seconds after which a process is killed that should have ended.
const PATIENCE: u64 = 300;

/// Grown stacks go from goroutine to goroutine.
fn kept_stacks(test: Test) {
    storm(test, false, "stackverify=1", 2000);
}

/// Each begins with a small one.
fn fresh_stacks(test: Test) {
    storm(test, false, "stackkeep=0,stackverify=1,randomizescheduler=1", 2000);
}

/// Each check moves them.
fn moving_stacks(test: Test) {
    storm(test, false, "stackforcemove=1,stackverify=1,randomizescheduler=1", 50);
}

/// They are asked to stop all the time: they do at their checks, and between any two instructions.
fn stopped_goroutines(test: Test) {
    storm(test, true, "stackkeep=0,stackverify=1", 2000);
}

/// Both.
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
        // SAFETY: sets a timer.
        unsafe { libc::alarm((seconds + PATIENCE) as u32) };
        here(seed, seconds, asked, deep_levels);
    });
    println!("STRESS_SEED={seed} GODEBUG={godebug}");
    let process =
        process.env("GOMAXPROCS", "2").env("GODEBUG", godebug).env("STRESS_SEED", &seed.to_string());
    print!("{}", process.end().with("exit status: 0").says("moves").stderr);
}

/// The storm of this process.
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

/// Runs one case after the other; returns how many.
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
