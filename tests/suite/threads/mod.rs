//! Threads of std and of C that are goroutines, and C's locks.

mod c_threads;
mod gate;
mod locks;
mod programs;
mod signals;
mod std_threads;

use gosched::{make_threads_goroutines, run, try_goid};

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[
    c_threads::TESTS,
    gate::TESTS,
    locks::barriers::TESTS,
    locks::c11::TESTS,
    locks::conditions::TESTS,
    locks::early::TESTS,
    locks::explorations::TESTS,
    locks::mutexes::TESTS,
    locks::once::TESTS,
    locks::programs::TESTS,
    locks::rwlocks::TESTS,
    locks::semaphores::TESTS,
    locks::storm::TESTS,
    signals::TESTS,
    std_threads::TESTS,
];

/// Runs `main` in a process whose threads are goroutines.
fn run_live(main: impl FnOnce() + Send) {
    make_threads_goroutines().unwrap();
    run(main);
}

/// Fails unless `main` ends well where threads are goroutines, with one P and with several.
fn live_with_one_p_and_several(test: Test, main: impl Fn() + Send + Sync) {
    for procs in ["1", "4"] {
        let process = test.process(|| run_live(&main));
        process.env("GOMAXPROCS", procs).end().with("exit status: 0");
    }
}

/// Whether the caller is on a goroutine.
fn is_goroutine() -> bool {
    try_goid().is_some()
}
