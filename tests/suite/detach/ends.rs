//! Goroutines that end while they have no P.

use std::fs;
use std::hint::spin_loop;
use std::mem::forget;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};

use gosched::iter::pull;
use gosched::{JoinHandle, go, goexit, lock_os_thread};

use super::ends_well;
use crate::harness::goroutines::others_ended;
use crate::harness::{Test, rounds, tests};

tests! {
    by_returning
    by_exiting
    by_panicking
    with_a_locked_thread
    as_iterators
    whose_handles_nobody_has
}

/// Returns when the goroutine has lost its P: with one P, only then can another run.
fn lose_p() {
    static OTHER_RUNS: AtomicBool = AtomicBool::new(false);
    OTHER_RUNS.store(false, Ordering::Relaxed);
    drop(go(|| OTHER_RUNS.store(true, Ordering::Relaxed)));
    while !OTHER_RUNS.load(Ordering::Relaxed) {
        spin_loop();
    }
}

pub fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

/// Runs many goroutines, all at once if nobody joins them. No goroutine is left over, and no more
/// threads than were needed.
fn each_ends<T: Send + 'static>(test: Test, body: fn() -> T, ended: fn(JoinHandle<T>)) {
    for godebug in ["", "detach=2"] {
        ends_well(test, "1", godebug, || {
            let times = rounds(50);
            for _ in 0..times {
                ended(go(body));
            }
            others_ended();
            assert!(threads() < times + 20, "{} threads", threads());
        });
    }
}

fn by_returning(test: Test) {
    let body = || {
        lose_p();
        [7; 300]
    };
    each_ends(test, body, |handle| assert_eq!(handle.join().unwrap(), [7; 300]));
}

fn by_exiting(test: Test) {
    let body = || {
        lose_p();
        goexit();
    };
    each_ends(test, body, |handle| assert!(handle.join().unwrap_err().is_goexit()));
}

fn by_panicking(test: Test) {
    let body = || {
        lose_p();
        resume_unwind(Box::new(7));
    };
    each_ends(test, body, |handle| {
        assert_eq!(*handle.join().unwrap_err().into_panic().downcast::<i32>().unwrap(), 7);
    });
}

fn with_a_locked_thread(test: Test) {
    let body = || {
        forget(lock_os_thread());
        lose_p();
        7
    };
    each_ends(test, body, |handle| assert_eq!(handle.join().unwrap(), 7));
}

fn as_iterators(test: Test) {
    let body = || {
        let numbers = pull(|out| {
            for i in 0..3 {
                lose_p();
                out.yield_(i);
            }
            lose_p();
        });
        numbers.sum::<i32>()
    };
    each_ends(test, body, |handle| assert_eq!(handle.join().unwrap(), 3));
}

fn whose_handles_nobody_has(test: Test) {
    each_ends(test, lose_p, drop);
}
