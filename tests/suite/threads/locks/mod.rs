//! C's locks: goroutines and threads wait for each other.

pub(super) mod barriers;
pub(super) mod c11;
pub(super) mod conditions;
pub(super) mod early;
pub(super) mod explorations;
pub(super) mod mutexes;
mod objects;
pub(super) mod once;
pub(super) mod programs;
pub(super) mod rwlocks;
pub(super) mod semaphores;
pub(super) mod storm;

use std::ffi::c_int;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use gosched::go;

use super::{live_with_one_p_and_several, run_live};
use crate::harness::{Test, rounds};

/// The number of goroutines that wait.
const MANY: usize = 2_000;

/// Fails unless a function has succeeded.
#[track_caller]
fn ok(result: c_int) {
    assert_eq!(result, 0);
}

/// Threads that were made before threads were goroutines.
struct Threads {
    begin: Vec<mpsc::Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Makes `n` threads, which wait until [`begin`](Self::begin), and then call `f`.
    fn make(n: usize, f: fn(usize)) -> Self {
        let (begin, threads) = (0..n)
            .map(|i| {
                let (tx, rx) = mpsc::channel();
                (tx, thread::spawn(move || rx.recv().map_or((), |()| f(i))))
            })
            .unzip();
        Threads { begin, threads }
    }

    fn begin(&self) {
        self.begin.iter().for_each(|begin| begin.send(()).unwrap());
    }

    /// Waits for their ends.
    fn end(self) {
        self.threads.into_iter().for_each(|thread| gosched::blocking(|| thread.join()).unwrap());
    }
}

/// Calls `f` on goroutines and on threads at once, with one P and with several, and then `check`.
fn on_goroutines_and_threads(test: Test, goroutines: usize, n: usize, f: fn(usize), check: fn()) {
    for procs in ["1", "4"] {
        let process = test.process(|| {
            let threads = Threads::make(n, f);
            run_live(|| {
                threads.begin();
                all_end((n..n + goroutines).map(|i| go(move || f(i))).collect());
                threads.end();
                check();
            });
        });
        process.env("GOMAXPROCS", procs).end().with("exit status: 0");
    }
}

fn all_end(handles: Vec<gosched::JoinHandle<()>>) {
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}

/// Calls `f` in `MANY` goroutines. Fails if their waits hold threads. (No goroutine loses its P. So
/// a goroutine that doesn't park keeps its P, too.)
fn without_threads(test: Test, main: impl Fn() + Send + Sync) {
    for procs in ["1", "4"] {
        let process = test.process(|| {
            run_live(|| {
                main();
                let threads = crate::detach::ends::threads();
                assert!(threads < MANY / 4, "{threads} threads");
            });
        });
        process.env("GOMAXPROCS", procs).env("GODEBUG", "detach=0").end().with("exit status: 0");
    }
}

/// Returns how often a storm does something.
fn times(quick: usize) -> usize {
    if crate::harness::Tests::said() == crate::harness::Tests::Quick { quick } else { rounds(10 * quick) }
}
