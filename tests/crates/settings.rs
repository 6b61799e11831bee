//! The settings under which each crate is used.

use std::env;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use gosched::Builder;

use crate::Work;

/// An environment variable, set in a process that runs one test under one setting.
const USED: &str = "GOSCHED_CRATES_USED";

/// How many goroutines use the crate, each with its own number.
const GOROUTINES: u64 = 1000;

/// How many threads use the crate, with the same numbers.
const THREADS: u64 = 4;

/// The size of a goroutine's stack, which is enough for each of the crates.
const STACK: usize = 512 << 10;

/// Compares the results of `work` on threads and on goroutines, in a process for each setting.
pub fn each(path: &str, work: Work) {
    in_processes(path, &[("1", "detach=2"), ("2", ""), ("8", "")], || compare(work));
}

/// Runs `test` in a process for each setting: the number of P's, and `GODEBUG`. The process finds
/// the test by `path`, and calls this function again, which then calls `test`.
pub fn in_processes(path: &str, settings: &[(&str, &str)], test: impl FnOnce()) {
    if env::var_os(USED).is_some() {
        return test();
    }
    // The test's name, without the crate's.
    let (_, name) = path.split_once("::").expect("a path in a crate");
    for (procs, godebug) in settings {
        let mut process = Command::new(env::current_exe().expect("this binary has a path"));
        process.args(["--exact", name, "--nocapture", "--test-threads", "1"]);
        process.env(USED, "1").env("GOMAXPROCS", procs).env("GODEBUG", godebug);
        let status = process.status().expect("a process can be made");
        assert!(status.success(), "{name}, {procs} P's: {status}");
    }
}

/// Calls `work` on threads and then on goroutines, and compares the results.
fn compare(work: Work) {
    let expected = Arc::new(on_threads(work));
    gosched::run(|| on_goroutines(work, expected));
}

fn on_threads(work: Work) -> Vec<String> {
    let next = AtomicU64::new(0);
    let share = || {
        let numbers =
            std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)).filter(|n| *n < GOROUTINES));
        numbers.map(|n| (n, work(n, &thread::yield_now))).collect::<Vec<_>>()
    };
    let mut results = thread::scope(|s| {
        let threads: Vec<_> = (0..THREADS).map(|_| s.spawn(share)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("it works on threads")).collect::<Vec<_>>()
    });
    results.sort();
    results.into_iter().map(|(_, result)| result).collect()
}

/// Fails unless each goroutine has the result that a thread had for the same number.
fn on_goroutines(work: Work, expected: Arc<Vec<String>>) {
    let goroutines: Vec<_> = (0..GOROUTINES)
        .map(|n| {
            let expected = expected.clone();
            let used = move || assert_eq!(work(n, &pause), expected[n as usize], "number {n}");
            Builder::new().stack_size(STACK).go(used).expect("there is room for a thousand")
        })
        .collect();
    let failed = goroutines.into_iter().filter_map(|goroutine| goroutine.join().err()).count();
    assert_eq!(failed, 0, "goroutines failed");
}

/// Lets others run. A goroutine that sleeps is made ready by another thread, and usually goes on
/// there.
fn pause() {
    gosched::yield_now();
    gosched::time::sleep(Duration::from_micros(1));
}
