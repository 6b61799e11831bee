//! Scopes: goroutines that borrow, and what ends with them.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gosched::sync::{Mutex, WaitGroup};
use gosched::{goexit, run, scope, yield_now};

use crate::harness::panics::panics;
use crate::harness::tests;

tests! {
    a_scope_lends
    a_scope_waits_for_all
    a_panic_that_nobody_joined_ends_the_scope
    a_scope_that_panics_waits_for_its_goroutines
    many_goroutines_share_what_is_borrowed
}

fn a_scope_lends() {
    run(|| {
        let mut numbers = [1, 2, 3, 4];
        let factor = 10;
        let sums = scope(|s| {
            let handles = numbers.each_mut().map(|number| {
                s.go(|| {
                    *number *= factor;
                    scope(|inner| inner.go(|| *number + 1).join().unwrap())
                })
            });
            handles.map(|handle| handle.join().unwrap())
        });
        assert_eq!(numbers, [10, 20, 30, 40]);
        assert_eq!(sums, [11, 21, 31, 41]);
    });
}

fn a_scope_waits_for_all() {
    run(|| {
        let ended = AtomicUsize::new(0);
        scope(|s| {
            for i in 0..100 {
                let ended = &ended;
                s.go(move || {
                    (0..i % 7).for_each(|_| yield_now());
                    ended.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(ended.into_inner(), 100);
    });
}

fn a_panic_that_nobody_joined_ends_the_scope() {
    run(|| {
        let unjoined = || scope(|s| drop(s.go(|| resume_unwind(Box::new(())))));
        assert_eq!(panics(unjoined), "a scoped goroutine panicked");

        let dropped_late = || {
            scope(|s| {
                let handle = s.go(|| resume_unwind(Box::new(())));
                while !handle.is_finished() {
                    yield_now();
                }
            })
        };
        assert_eq!(panics(dropped_late), "a scoped goroutine panicked");

        scope(|s| assert!(s.go(|| resume_unwind(Box::new(()))).join().is_err()));
        scope(|s| drop(s.go(|| goexit())));
    });
}

fn a_scope_that_panics_waits_for_its_goroutines() {
    run(|| {
        let ended = AtomicBool::new(false);
        let message = panics(|| {
            scope(|s| {
                s.go(|| {
                    (0..100).for_each(|_| yield_now());
                    ended.store(true, Ordering::Relaxed);
                });
                panic!("f broke");
            })
        });
        assert_eq!(message, "f broke");
        assert!(ended.into_inner());
    });
}

fn many_goroutines_share_what_is_borrowed() {
    run(|| {
        let total = Mutex::new(0u64);
        let done = WaitGroup::new();
        done.add(1);
        scope(|s| {
            for i in 0..10_000 {
                let (total, done) = (&total, &done);
                s.go(move || {
                    done.wait();
                    *total.lock() += i;
                });
            }
            done.done();
        });
        assert_eq!(total.into_inner(), (0..10_000).sum());
    });
}
