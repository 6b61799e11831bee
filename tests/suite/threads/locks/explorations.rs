//! C's locks in explorations.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use gosched::explore::{Explorer, FailureKind};
use gosched::{go, make_threads_goroutines};

use super::objects::{Cond, Mutex, Sem, after};
use super::ok;
use crate::harness::polled::HOUR;
use crate::harness::tests;

tests! {
    an_exploration_finds_a_deadlock
    an_exploration_finds_what_comes_too_early
    an_exploration_needs_no_time
    a_right_program_passes
}

fn an_exploration_finds_a_deadlock() {
    make_threads_goroutines().unwrap();
    let found = Explorer::new().check(|| {
        let locks = Arc::new([Mutex::new(), Mutex::new()]);
        let other = locks.clone();
        let handle = go(move || {
            other[1].with(|| {
                thread::yield_now();
                other[0].with(|| ());
            });
        });
        locks[0].with(|| {
            thread::yield_now();
            locks[1].with(|| ());
        });
        handle.join().unwrap();
    });
    assert_eq!(found.unwrap_err().kind(), FailureKind::Deadlock);
}

/// A signal comes before the wait, which doesn't check for it.
fn an_exploration_finds_what_comes_too_early() {
    make_threads_goroutines().unwrap();
    let found = Explorer::new().check(|| {
        let both = Arc::new((Mutex::new(), Cond::new()));
        let other = both.clone();
        let handle = go(move || other.1.signal());
        thread::yield_now();
        both.0.with(|| ok(both.1.wait(&both.0)));
        handle.join().unwrap();
    });
    assert_eq!(found.unwrap_err().kind(), FailureKind::Deadlock);
}

fn an_exploration_needs_no_time() {
    make_threads_goroutines().unwrap();
    let checked = Explorer::new().iterations(20).check(|| {
        let (mutex, cond, sem) = (Mutex::new(), Cond::new(), Sem::new());
        let later = || after(libc::CLOCK_MONOTONIC, HOUR);
        mutex.with(|| {
            let by = libc::CLOCK_MONOTONIC;
            assert_eq!(cond.wait_by(&mutex, by, &later()), libc::ETIMEDOUT);
            assert_eq!(sem.wait_by(by, &later()), libc::ETIMEDOUT);
            assert_eq!(mutex.lock_by(by, &later()), libc::ETIMEDOUT);
        });
    });
    checked.unwrap();
}

/// No signal is lost between the release of the mutex and the sleep.
fn a_right_program_passes() {
    make_threads_goroutines().unwrap();
    let checked = Explorer::new().iterations(500).check(|| {
        let shared = Arc::new((Mutex::new(), Cond::new(), AtomicUsize::new(0)));
        let handles = [(); 3].map(|()| {
            let shared = shared.clone();
            go(move || {
                let (mutex, cond, count) = &*shared;
                mutex.with(|| {
                    if count.fetch_add(1, Relaxed) == 2 {
                        cond.broadcast();
                    }
                    thread::yield_now();
                    while count.load(Relaxed) < 3 {
                        ok(cond.wait(mutex));
                    }
                });
            })
        });
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    });
    checked.unwrap();
}
