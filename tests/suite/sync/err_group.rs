//! Groups of goroutines that may fail.

use std::mem::forget;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use gosched::chan::bounded;
use gosched::context::{Context, ContextError};
use gosched::explore::{Explorer, FailureKind};
use gosched::sync::{Barrier, ErrGroup, err_group};
use gosched::{blocking, goexit, run, yield_now};

use crate::harness::explored::{in_any_order, times};
use crate::harness::panics::panics;
use crate::harness::rng::Rng;
use crate::harness::tests;

tests! {
    what_is_borrowed_is_done_when_it_returns
    the_first_error_ends_the_others
    the_closures_own_error
    so_many_at_a_time
    a_panic_ends_the_others_and_is_carried
    a_panic_of_the_closure
    one_that_exits_has_not_failed
    the_parent_ends_it
    one_adds_others
    a_clone_that_is_forgotten
    misuse
    the_first_error_is_the_cause
    a_panic_is_the_cause
    a_cause_that_panics
    none_may_run
    many_groups_that_fail_at_random
}

const LONG: Duration = Duration::from_secs(3600);

pub fn what_is_borrowed_is_done_when_it_returns() {
    in_any_order(|| {
        let mut squares = vec![0; times(100, 4)];
        let done: Result<&str, ()> = err_group(&Context::background(), |group| {
            for (i, square) in squares.iter_mut().enumerate() {
                group.go(move |_| {
                    yield_now();
                    *square = i * i;
                    Ok(())
                });
            }
            Ok("done")
        });
        assert_eq!(
            (done, squares.iter().sum::<usize>()),
            (Ok("done"), (0..squares.len()).map(|i| i * i).sum())
        );
    });
}

pub fn the_first_error_ends_the_others() {
    in_any_order(|| {
        let (ended, crowd) = (AtomicUsize::new(0), times(10, 3));
        let result: Result<(), String> = err_group(&Context::background(), |group| {
            for _ in 0..crowd {
                group.go(|ctx| {
                    let error = ctx.sleep(LONG).unwrap_err();
                    ended.fetch_add(1, Ordering::Relaxed);
                    Err(error.to_string())
                });
            }
            group.go(|_| Err("the first".into()));
            assert_eq!(group.context().sleep(LONG), Err(ContextError::Canceled));
            Ok(())
        });
        assert_eq!((result, ended.into_inner()), (Err("the first".into()), crowd));
    });
}

pub fn the_closures_own_error() {
    in_any_order(|| {
        let result: Result<(), &str> = err_group(&Context::background(), |group| {
            group.go(|ctx| ctx.sleep(LONG).map_err(|_| "a later one"));
            Err("its own")
        });
        assert_eq!(result, Err("its own"));
    });
}

pub fn so_many_at_a_time() {
    in_any_order(|| {
        let (running, most, three) = (AtomicUsize::new(0), AtomicUsize::new(0), Barrier::new(3));
        let (tx, rx) = bounded::<()>(0);
        let result: Result<(), ()> = err_group(&Context::background(), |group| {
            group.set_limit(3);
            for _ in 0..times(51, 6) {
                group.go(|_| {
                    let now = running.fetch_add(1, Ordering::Relaxed) + 1;
                    most.fetch_max(now, Ordering::Relaxed);
                    three.wait();
                    (0..3).for_each(|_| yield_now());
                    running.fetch_sub(1, Ordering::Relaxed);
                    Ok(())
                });
            }
            let mut waiting = 0;
            while waiting < 3 {
                if group.try_go(|_| rx.recv().map_err(drop).or(Ok(()))) {
                    waiting += 1;
                }
                yield_now();
            }
            assert!(!group.try_go(|_| unreachable!("three wait")));
            drop(tx);
            Ok(())
        });
        assert_eq!((result, most.into_inner()), (Ok(()), 3));
    });
}

pub fn a_panic_ends_the_others_and_is_carried() {
    in_any_order(|| {
        let ended = AtomicBool::new(false);
        let message = panics(|| {
            let _: Result<(), ()> = err_group(&Context::background(), |group| {
                group.go(|_| Err(()));
                group.go(|ctx| {
                    ctx.sleep(LONG).unwrap_err();
                    panic!("of a goroutine");
                });
                group.go(|ctx| {
                    ctx.sleep(LONG).unwrap_err();
                    ended.store(true, Ordering::Relaxed);
                    Ok(())
                });
                Ok(())
            });
        });
        assert_eq!(message, "of a goroutine");
        assert!(ended.into_inner());
    });
}

pub fn a_panic_of_the_closure() {
    in_any_order(|| {
        let message = panics(|| {
            let _: Result<(), ()> = err_group(&Context::background(), |group| {
                group.go(|ctx| ctx.sleep(LONG).map_err(drop));
                panic!("of the closure");
            });
        });
        assert_eq!(message, "of the closure");
    });
}

pub fn one_that_exits_has_not_failed() {
    in_any_order(|| {
        let result: Result<(), ()> = err_group(&Context::background(), |group| {
            group.set_limit(1);
            group.go(|_| goexit());
            group.go(|ctx| ctx.check().map_err(drop));
            Ok(())
        });
        assert_eq!(result, Ok(()));
    });
}

pub fn the_parent_ends_it() {
    in_any_order(|| {
        let (ctx, _cancel) = Context::background().with_timeout(Duration::from_millis(2));
        let result: Result<(), ContextError> = err_group(&ctx, |group| {
            group.go(|ctx| ctx.sleep(LONG));
            Ok(())
        });
        assert_eq!(result, Err(ContextError::DeadlineExceeded));
        assert_eq!(ctx.err(), Some(ContextError::DeadlineExceeded));
        let (ctx, _cancel) = Context::background().with_cancel();
        let failed: Result<(), ()> = err_group(&ctx, |group| {
            group.go(|_| Err(()));
            Ok(())
        });
        assert_eq!((failed, ctx.err()), (Err(()), None));
    });
}

pub fn one_adds_others() {
    in_any_order(|| {
        let (count, others) = (AtomicUsize::new(0), times(10, 3));
        let done: Result<(), ()> = err_group(&Context::background(), |group: &ErrGroup<'_, '_, ()>| {
            let (same, count) = (group.clone(), &count);
            group.go(move |_| {
                (0..others).for_each(|_| {
                    same.go(move |_| {
                        yield_now();
                        count.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    });
                });
                Ok(())
            });
            Ok(())
        });
        assert_eq!((done, count.into_inner()), (Ok(()), others));
    });
}

fn a_clone_that_is_forgotten() {
    run(|| {
        let ctx: Result<Context, ()> = err_group(&Context::background(), |group| {
            forget(group.clone());
            Ok(group.context().clone())
        });
        assert_eq!(ctx.unwrap().err(), Some(ContextError::Canceled));
    });
}

/// Returns the text of the cause for which a context has ended.
fn cause(ctx: &Context) -> String {
    ctx.done().recv().unwrap_err();
    ctx.cause().expect("it has ended").to_string()
}

pub fn the_first_error_is_the_cause() {
    in_any_order(|| {
        // Errors come at the same time. One is the first, for the caller and for the context.
        let mut seen = String::new();
        let error = err_group(&Context::background(), |group| {
            group.set_cause(String::clone);
            for i in 0..times(8, 3) {
                group.go(move |_| Err::<(), _>(format!("error {i}")));
            }
            seen = cause(group.context());
            Ok(())
        });
        assert_eq!(error, Err(seen));
        // The error type is the closure's own.
        let ctx = err_group(&Context::background(), |group| {
            group.set_cause(|error: &Context| format!("own, {:?}", error.err()));
            Err::<(), _>(group.context().clone())
        });
        assert_eq!(cause(&ctx.unwrap_err()), "own, None");
        // Nothing else gives the error type.
        let _ = err_group(&Context::background(), |group| {
            group.go(|_| Err::<(), _>("not said"));
            assert_eq!(cause(group.context()), ContextError::Canceled.to_string());
            Ok(())
        });
    });
}

fn a_panic_is_the_cause() {
    run(|| {
        let told = panics(|| {
            let _: Result<(), ()> = err_group(&Context::background(), |group| {
                group.go(|_| panic!("it fails"));
                assert_eq!(cause(group.context()), "a goroutine of the group has panicked: it fails");
                Ok(())
            });
        });
        assert_eq!(told, "it fails");
    });
}

fn a_cause_that_panics() {
    run(|| {
        for own in [false, true] {
            let told = panics(|| {
                let _: Result<(), &str> = err_group(&Context::background(), |group| {
                    group.set_cause(|_| -> String { panic!("no cause") });
                    if own {
                        group.go(|ctx| {
                            ctx.done().recv().unwrap_err();
                            Ok(())
                        });
                        return Err("own");
                    }
                    group.go(|_| Err("an error"));
                    ctx_ends(group.context());
                    Ok(())
                });
            });
            assert_eq!(told, "no cause");
        }
    });
}

fn ctx_ends(ctx: &Context) {
    ctx.done().recv().unwrap_err();
}

fn none_may_run() {
    let waits = Explorer::new().iterations(10).check(|| {
        let _: Result<(), ()> = err_group(&Context::background(), |group| {
            group.set_limit(0);
            assert!(!group.try_go(|_| unreachable!("none may run")));
            group.go(|_| unreachable!("none may run"));
            Ok(())
        });
    });
    assert_eq!(waits.unwrap_err().kind(), FailureKind::Deadlock);
}

fn misuse() {
    let empty = || {
        let _: Result<(), ()> = err_group(&Context::background(), |_| Ok(()));
    };
    assert!(panics(empty).contains("isn't a goroutine's"));
    run(|| {
        assert!(panics(|| blocking(empty)).contains("inside gosched::blocking"));
        let limited = |limits: &[usize]| {
            let _: Result<(), ()> = err_group(&Context::background(), |group| {
                limits.iter().for_each(|&limit| group.set_limit(limit));
                Ok(())
            });
        };
        assert_eq!(panics(|| limited(&[1, 2])), "gosched: an ErrGroup's limit is set once");
        let named_twice = || {
            let _: Result<(), String> = err_group(&Context::background(), |group| {
                group.set_cause(String::clone);
                group.set_cause(String::clone);
                Ok(())
            });
        };
        assert_eq!(panics(named_twice), "gosched: an ErrGroup's cause is set once");
    });
}

pub fn many_groups_that_fail_at_random() {
    in_any_order(|| {
        let (mut rng, most) = (Rng::seeded(), times(20, 4));
        for _ in 0..times(300, 1) {
            let (size, fails) = (rng.below(most), rng.below(most + most / 4));
            let result = err_group(&Context::background(), |group| {
                if rng.below(2) == 0 {
                    group.set_limit(1 + rng.below(5));
                }
                for i in 0..size {
                    group.go(move |ctx| {
                        yield_now();
                        if i == fails { Err(i) } else { ctx.sleep(Duration::ZERO).map_err(|_| size) }
                    });
                }
                Ok(size)
            });
            assert_eq!(result, if fails < size { Err(fails) } else { Ok(size) });
        }
    });
}
