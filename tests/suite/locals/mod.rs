//! Goroutines with their own thread-locals. To the code that they run they look like threads.

#[cfg(feature = "rooms")]
mod debugged;
mod ends;
mod identity;
mod kept;
mod kinds;
mod loaded;
mod storms;

use gosched::{Builder, JoinHandle, run, yield_now};

use crate::harness::Test;
use crate::harness::process::Process;

pub const TESTS: &[&[Test]] = &[
    #[cfg(feature = "rooms")]
    debugged::TESTS,
    ends::TESTS,
    identity::TESTS,
    kept::TESTS,
    kinds::TESTS,
    loaded::TESTS,
    storms::TESTS,
];

/// Makes a goroutine with thread-locals of its own.
#[track_caller]
fn own<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    Builder::new().own_locals().go(f).unwrap()
}

/// Runs `f` on `n` such goroutines, and returns their results.
fn each<T: Send + 'static>(n: usize, f: impl Fn(usize) -> T + Send + Copy + 'static) -> Vec<T> {
    let handles: Vec<_> = (0..n).map(|i| own(move || f(i))).collect();
    handles.into_iter().map(|handle| handle.join().unwrap()).collect()
}

/// Runs `main` with 1, 2 and 8 P's, while goroutines lose their P's at any point.
fn with_procs(test: Test, main: impl Fn() + Send + Sync) {
    with_procs_and(test, |process| process, main);
}

/// Does the same, in processes that `set` has changed.
fn with_procs_and(test: Test, set: impl Fn(Process) -> Process, main: impl Fn() + Send + Sync) {
    let process = set(test.process(|| run(&main)));
    process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=2").end().with("exit status: 0");
    for procs in ["2", "8"] {
        let process = set(test.process(|| run(&main)));
        process.env("GOMAXPROCS", procs).end().with("exit status: 0");
    }
}

/// Lets others run, and perhaps continues on another thread.
fn moves() {
    (0..3).for_each(|_| yield_now());
}
