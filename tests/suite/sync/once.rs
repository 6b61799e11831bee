//! Waits for a `Once` and a `OnceLock`, and a function that may fail.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use gosched::context::{Context, ContextError};
use gosched::sync::{Once, OnceLock};
use gosched::{go, run, scope, time};

use crate::harness::explored::{in_any_order, times};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::panics::panics;
use crate::harness::tests;

tests! {
    a_wait_ends_when_a_function_has_run
    a_wait_sees_what_the_function_did
    a_function_that_panics_ends_no_wait
    a_function_that_fails_ends_no_wait
    a_wait_ends_with_its_run
    threads_wait
}

pub fn a_wait_ends_when_a_function_has_run() {
    in_any_order(|| {
        let once: &Once = Box::leak(Box::default());
        let waiters: Vec<_> = (0..times(10, 3)).map(|_| go_until_it_waits(|| once.wait())).collect();
        assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
        once.call_once(|| assert!(waiters.iter().all(|waiter| !waiter.is_finished())));
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        once.wait();
    });
}

/// Waiters and the function begin in any order.
pub fn a_wait_sees_what_the_function_did() {
    in_any_order(|| {
        for _ in 0..times(1000, 1) {
            let (cell, done) = (OnceLock::new(), AtomicU32::new(0));
            scope(|s| {
                for _ in 0..2 {
                    s.go(|| {
                        assert_eq!(cell.wait(), &7);
                        assert_eq!(done.load(Ordering::Relaxed), 1);
                    });
                }
                s.go(|| {
                    cell.get_or_init(|| {
                        done.store(1, Ordering::Relaxed);
                        7
                    });
                });
            });
            assert_eq!(cell.into_inner(), Some(7));
        }
    });
}

fn a_function_that_panics_ends_no_wait() {
    run(|| {
        let once: &Once = Box::leak(Box::default());
        let waiter = go_until_it_waits(|| once.wait());
        assert_eq!(panics(|| once.call_once(|| panic!("a test's"))), "a test's");
        assert!(!waiter.is_finished() && !once.is_completed());
        once.call_once(|| ());
        waiter.join().unwrap();
    });
}

pub fn a_function_that_fails_ends_no_wait() {
    in_any_order(|| {
        let cell: &OnceLock<u32> = Box::leak(Box::default());
        let waiter = go_until_it_waits(|| *cell.wait());
        assert_eq!(cell.get_or_try_init(|| Err("not yet")), Err("not yet"));
        assert!(!waiter.is_finished() && cell.get().is_none());
        assert_eq!(cell.get_or_try_init(|| Ok::<_, ()>(7)), Ok(&7));
        assert_eq!(cell.get_or_try_init(|| Err("too late")), Ok(&7));
        assert_eq!(waiter.join().unwrap(), 7);
    });
}

pub fn a_wait_ends_with_its_run() {
    in_any_order(|| {
        let once: &Once = Box::leak(Box::default());
        let (ctx, cancel) = Context::background().with_cancel();
        let ended = go(move || ctx.run(|| once.wait()));
        let stays = go(|| once.wait());
        time::sleep(Duration::from_millis(1));
        cancel.cancel();
        assert_eq!(ended.join().unwrap(), Err(ContextError::Canceled));
        assert!(!stays.is_finished());
        once.call_once(|| ());
        stays.join().unwrap();
    });
}

fn threads_wait() {
    run(|| {
        let cell: &OnceLock<u32> = Box::leak(Box::default());
        let thread = std::thread::spawn(|| *cell.wait());
        cell.set(7).unwrap();
        assert_eq!(thread.join().unwrap(), 7);
    });
}
