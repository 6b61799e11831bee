//! Scopes: goroutines that borrow, and what ends with the scope.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gosched::sync::{Mutex, WaitGroup};
use gosched::{goexit, run, scope, yield_now};

use crate::harness::explored::{in_any_order, times};
use crate::harness::panics::panics;
use crate::harness::tests;

tests! {
    a_scope_lends
    a_scope_waits_for_all
    a_panic_that_nobody_joined_ends_the_scope
    a_scope_that_panics_waits_for_its_goroutines
    many_goroutines_share_what_is_borrowed
}

pub fn a_scope_lends() {
    in_any_order(|| {
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

pub fn a_scope_waits_for_all() {
    in_any_order(|| {
        let (ended, crowd) = (AtomicUsize::new(0), times(100, 4));
        scope(|s| {
            for i in 0..crowd {
                let ended = &ended;
                s.go(move || {
                    (0..i % 7).for_each(|_| yield_now());
                    ended.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(ended.into_inner(), crowd);
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

pub fn a_scope_that_panics_waits_for_its_goroutines() {
    in_any_order(|| {
        let ended = AtomicBool::new(false);
        let message = panics(|| {
            scope(|s| {
                s.go(|| {
                    (0..times(100, 3)).for_each(|_| yield_now());
                    ended.store(true, Ordering::Relaxed);
                });
                panic!("f broke");
            })
        });
        assert_eq!(message, "f broke");
        assert!(ended.into_inner());
    });
}

pub fn many_goroutines_share_what_is_borrowed() {
    in_any_order(|| {
        let (total, crowd) = (Mutex::new(0), times(10_000, 4));
        let done = WaitGroup::new();
        done.add(1);
        scope(|s| {
            for i in 0..crowd {
                let (total, done) = (&total, &done);
                s.go(move || {
                    done.wait();
                    *total.lock() += i;
                });
            }
            done.done();
        });
        assert_eq!(total.into_inner(), (0..crowd).sum());
    });
}
