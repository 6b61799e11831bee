//! Waits of std's own code that park the goroutine.

mod children;
mod closes;
mod descriptors;
mod explorations;
mod files;
mod futexes;
mod gate;
mod known;
mod ledger;
mod locks;
mod long_calls;
mod modes;
mod odd_calls;
mod polls;
mod sockets;

use gosched::metrics::{self, Value};
use gosched::{park_std_waits, run};

use crate::detach::ends::threads;
use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[
    children::TESTS,
    closes::TESTS,
    explorations::TESTS,
    files::TESTS,
    futexes::TESTS,
    gate::TESTS,
    known::TESTS,
    ledger::TESTS,
    locks::TESTS,
    long_calls::TESTS,
    modes::TESTS,
    odd_calls::TESTS,
    polls::TESTS,
    sockets::TESTS,
];

/// Returns how often goroutines have parked at futexes.
fn parks() -> u64 {
    match metrics::read("/gosched/std/futex:waits") {
        Some(Value::Uint64(parks)) => parks,
        other => panic!("{other:?}"),
    }
}

/// Fails if `waits` waits of goroutines hold threads. There may be some threads that are neither in
/// use nor idle yet: more on a slow machine, but never one for every fourth wait.
#[track_caller]
fn hold_no_threads(waits: usize) {
    let threads = threads();
    assert!(threads < waits / 4, "{threads} threads for {waits} waits");
}

/// Runs `main` in a process whose waits park.
fn run_live(main: impl FnOnce() + Send) {
    park_std_waits().unwrap();
    run(main);
}

/// Fails unless `main` ends well where waits park, with one P and with several.
fn live_with_one_p_and_several(test: Test, main: impl Fn() + Send + Sync) {
    for procs in ["1", "4"] {
        let process = test.process(|| run_live(&main));
        process.env("GOMAXPROCS", procs).end().with("exit status: 0");
    }
}
