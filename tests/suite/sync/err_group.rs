//! Groups of goroutines that may fail.

use std::mem::forget;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use gosched::chan::bounded;
use gosched::context::{Context, ContextError};
use gosched::sync::{Barrier, ErrGroup, err_group};
use gosched::{blocking, goexit, run, yield_now};

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
    many_groups_that_fail_at_random
}

const LONG: Duration = Duration::from_secs(3600);

fn what_is_borrowed_is_done_when_it_returns() {
    run(|| {
        let mut squares = [0; 100];
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
        assert_eq!((done, squares.iter().sum::<usize>()), (Ok("done"), 328_350));
    });
}

fn the_first_error_ends_the_others() {
    run(|| {
        let ended = AtomicUsize::new(0);
        let result: Result<(), String> = err_group(&Context::background(), |group| {
            for _ in 0..10 {
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
        assert_eq!((result, ended.into_inner()), (Err("the first".into()), 10));
    });
}

fn the_closures_own_error() {
    run(|| {
        let result: Result<(), &str> = err_group(&Context::background(), |group| {
            group.go(|ctx| ctx.sleep(LONG).map_err(|_| "a later one"));
            Err("its own")
        });
        assert_eq!(result, Err("its own"));
    });
}

fn so_many_at_a_time() {
    run(|| {
        let (running, most, three) = (AtomicUsize::new(0), AtomicUsize::new(0), Barrier::new(3));
        let (tx, rx) = bounded::<()>(0);
        let result: Result<(), ()> = err_group(&Context::background(), |group| {
            group.set_limit(3);
            for _ in 0..51 {
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

fn a_panic_ends_the_others_and_is_carried() {
    run(|| {
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

fn a_panic_of_the_closure() {
    run(|| {
        let message = panics(|| {
            let _: Result<(), ()> = err_group(&Context::background(), |group| {
                group.go(|ctx| ctx.sleep(LONG).map_err(drop));
                panic!("of the closure");
            });
        });
        assert_eq!(message, "of the closure");
    });
}

fn one_that_exits_has_not_failed() {
    run(|| {
        let result: Result<(), ()> = err_group(&Context::background(), |group| {
            group.set_limit(1);
            group.go(|_| goexit());
            group.go(|ctx| ctx.check().map_err(drop));
            Ok(())
        });
        assert_eq!(result, Ok(()));
    });
}

fn the_parent_ends_it() {
    run(|| {
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

fn one_adds_others() {
    run(|| {
        let count = AtomicUsize::new(0);
        let done: Result<(), ()> = err_group(&Context::background(), |group: &ErrGroup<'_, '_, ()>| {
            let (same, count) = (group.clone(), &count);
            group.go(move |_| {
                (0..10).for_each(|_| {
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
        assert_eq!((done, count.into_inner()), (Ok(()), 10));
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
        assert_eq!(panics(|| limited(&[0])), "gosched: an ErrGroup in which none may run");
        assert_eq!(panics(|| limited(&[1, 2])), "gosched: an ErrGroup's limit is set once");
    });
}

fn many_groups_that_fail_at_random() {
    let mut rng = Rng::seeded();
    run(|| {
        for _ in 0..300 {
            let (size, fails) = (rng.below(20), rng.below(25));
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
