//! `Sometimes`: which calls are done.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use gosched::sync::Sometimes;
use gosched::{run, scope, synctest, time};

use crate::harness::panics::panics;
use crate::harness::tests;

tests! {
    the_first_call_is_done
    the_settings_add_up
    an_interval_begins_with_the_call
    goroutines_share_the_calls
    a_function_may_call_again
    a_call_that_panics_counts
}

/// Returns which of `n` calls are done.
fn done(sometimes: &Sometimes, n: u32) -> Vec<u32> {
    (0..n).filter_map(|i| sometimes.run(|| i)).collect()
}

fn the_first_call_is_done() {
    assert_eq!(done(&Sometimes::new(), 5), [0]);
    assert_eq!(done(&Sometimes::default().first(0).every(0).interval(Duration::ZERO), 5), [0]);
    assert_eq!(done(&Sometimes::new().first(1), 5), [0]);
    assert_eq!(done(&Sometimes::new().every(1), 5), [0, 1, 2, 3, 4]);
}

fn the_settings_add_up() {
    assert_eq!(done(&Sometimes::new().first(2).every(3), 10), [0, 1, 3, 6, 9]);
    synctest::test(|| {
        // A call each second.
        let sometimes = Sometimes::new().first(2).every(7).interval(Duration::from_secs(3));
        let mut calls = Vec::new();
        for i in 0..12 {
            sometimes.run(|| calls.push(i));
            time::sleep(Duration::from_secs(1));
        }
        // 4 and 10 are three seconds after 1 and 7.
        assert_eq!(calls, [0, 1, 4, 7, 10]);
    });
}

fn an_interval_begins_with_the_call() {
    synctest::test(|| {
        let sometimes = Sometimes::new().interval(Duration::from_secs(3));
        assert!(sometimes.run(|| time::sleep(Duration::from_secs(2))).is_some());
        time::sleep(Duration::from_nanos(999_999_999));
        assert!(sometimes.run(|| ()).is_none());
        time::sleep(Duration::from_nanos(1));
        assert!(sometimes.run(|| ()).is_some());
        assert!(sometimes.run(|| ()).is_none());
    });
}

fn goroutines_share_the_calls() {
    run(|| {
        let (sometimes, count) = (Sometimes::new().first(10).every(100), AtomicU32::new(0));
        scope(|s| {
            for _ in 0..10 {
                s.go(|| {
                    for _ in 0..100 {
                        sometimes.run(|| count.fetch_add(1, Ordering::Relaxed));
                    }
                });
            }
        });
        // The first ten, and 100, 200 and so on.
        assert_eq!(count.into_inner(), 19);
    });
}

fn a_function_may_call_again() {
    let sometimes = Sometimes::new().first(2);
    assert_eq!(sometimes.run(|| sometimes.run(|| sometimes.run(|| ()))), Some(Some(None)));
}

fn a_call_that_panics_counts() {
    let sometimes = Sometimes::new();
    assert_eq!(panics(|| sometimes.run(|| -> () { panic!("a test's") })), "a test's");
    assert_eq!(sometimes.run(|| ()), None);
}
