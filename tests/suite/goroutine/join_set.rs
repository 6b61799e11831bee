//! Sets of goroutines, their results and their aborts; values that are bound during a call.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use gosched::chan::{bounded, never};
use gosched::context::{Context, ContextError};
use gosched::sync::err_group;
use gosched::{JoinSet, ScopedValue, go, goexit, run, scope, shield, time, try_scope};

use crate::harness::goroutines::{go_until_it_waits, others_ended};
use crate::harness::{Test, tests};

tests! {
    results_come_as_goroutines_end
    a_drop_aborts
    a_result_that_nobody_takes_is_dropped
    one_is_aborted_and_the_others_go_on
    results_of_other_ends
    join_all_resumes_a_panic
    a_set_ends_with_its_context
    a_set_in_a_run
    a_result_that_is_there_is_not_lost
    goroutines_that_were_detached_from_a_run_go_on
    a_scope_that_fails_aborts_the_others
    a_bound_value_is_seen_in_the_call
    scopes_see_bound_values
    a_set_sees_no_bound_values
    a_panic_unbinds
    bindings_and_runs_together
    a_set_before_the_first_run
}

static USER: ScopedValue<String> = ScopedValue::new();
static ATTEMPT: ScopedValue<u32> = ScopedValue::new();

fn results_come_as_goroutines_end() {
    run(|| {
        let mut set = JoinSet::new();
        let senders: Vec<_> = (0..3)
            .map(|i| {
                let (tx, rx) = bounded::<()>(0);
                set.go(move || rx.recv().map_or(i, |()| i));
                tx
            })
            .collect();
        assert!(set.try_join_next().is_none() && set.join_next_timeout(Duration::ZERO).is_none());
        let mut came = Vec::new();
        for tx in senders.into_iter().rev() {
            drop(tx);
            came.push(set.join_next().unwrap().unwrap());
        }
        assert_eq!(came, [2, 1, 0]);
        assert!(set.join_next().is_none() && set.is_empty());
        others_ended();
    });
}

fn a_drop_aborts() {
    run(|| {
        let kept = Arc::new(());
        let mut set = JoinSet::new();
        for _ in 0..10 {
            let keeps = kept.clone();
            set.go(move || {
                let _keeps = keeps;
                never::<()>().recv()
            });
        }
        drop(set);
        others_ended();
        assert_eq!(Arc::strong_count(&kept), 1);
    });
}

/// The goroutines go on after the abort, and return when their set is gone.
fn a_result_that_nobody_takes_is_dropped() {
    run(|| {
        let (kept, mut set) = (Arc::new(()), JoinSet::new());
        for _ in 0..10 {
            let kept = kept.clone();
            set.go(move || shield(|| kept));
        }
        drop(set);
        others_ended();
        assert_eq!(Arc::strong_count(&kept), 1);
    });
}

fn one_is_aborted_and_the_others_go_on() {
    run(|| {
        let (tx, rx) = bounded::<u32>(0);
        let mut set = JoinSet::new();
        let waits = rx.clone();
        let handle = set.go(move || waits.recv().unwrap());
        set.go(move || rx.recv().unwrap());
        assert!(!handle.is_finished());
        handle.abort();
        assert!(set.join_next().unwrap().unwrap_err().is_aborted());
        assert!(handle.is_finished());
        handle.abort();
        tx.send(7).unwrap();
        assert_eq!(set.join_next().unwrap().unwrap(), 7);
        // A handle that is dropped aborts nothing.
        set.go(|| {
            time::sleep(Duration::from_millis(1));
            1
        });
        assert_eq!(set.join_next().unwrap().unwrap(), 1);
    });
}

fn results_of_other_ends() {
    run(|| {
        let mut set = JoinSet::new();
        set.go(|| panic_any(7));
        let error = set.join_next().unwrap().unwrap_err();
        assert!(error.is_panic() && !error.is_aborted());
        assert_eq!(error.into_panic().downcast_ref(), Some(&7));
        set.go(|| goexit());
        assert!(set.join_next().unwrap().unwrap_err().is_goexit());
        let abort = set.go(|| never::<()>().recv().unwrap());
        abort.abort();
        let error = set.join_next().unwrap().unwrap_err();
        assert_eq!(error.to_string(), "goroutine was aborted");
        assert!(catch_unwind(AssertUnwindSafe(|| error.into_panic())).is_err());
        // What doesn't wait returns its value.
        let (tx, rx) = bounded::<()>(0);
        let abort = set.go(move || shield(|| (0..2).for_each(|_| rx.recv().unwrap())));
        tx.send(()).unwrap();
        abort.abort();
        tx.send(()).unwrap();
        assert_eq!(set.join_next().unwrap().unwrap(), ());
    });
}

fn join_all_resumes_a_panic() {
    run(|| {
        let mut set = JoinSet::new();
        set.go(|| never::<()>().recv().map_or(0, |()| 0));
        set.go(|| panic_any("the first"));
        let payload = catch_unwind(AssertUnwindSafe(|| set.join_all())).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"the first"));
        others_ended();
    });
}

fn a_set_ends_with_its_context() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let mut set = JoinSet::under(&ctx);
        for _ in 0..3 {
            set.go(|| never::<()>().recv());
        }
        cancel.cancel();
        // Also those that come later.
        set.go(|| never::<()>().recv());
        for _ in 0..4 {
            assert!(set.join_next().unwrap().unwrap_err().is_aborted());
        }
    });
}

fn a_set_in_a_run() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let waits = go_until_it_waits(move || {
            ctx.run(|| {
                let mut set = JoinSet::new();
                set.go(|| never::<()>().recv());
                set.join_next().is_some()
            })
        });
        cancel.cancel();
        assert_eq!(waits.join().unwrap(), Err(ContextError::Canceled));
        others_ended();
    });
}

fn a_result_that_is_there_is_not_lost() {
    thread_local! {
        static LAST: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
    }
    struct CallsLast;
    impl Drop for CallsLast {
        fn drop(&mut self) {
            LAST.with_borrow_mut(|last| last.take().map(|last| last()));
        }
    }
    thread_local! {
        static CALLS_LAST: CallsLast = const { CallsLast };
    }
    run(|| {
        let ((ends, is_ending), (release, released)) = (bounded(0), bounded::<()>(0));
        let (end, may_end) = bounded::<()>(0);
        let (ctx, cancel) = Context::background().with_cancel();
        let joins = go_until_it_waits(move || {
            let mut set = JoinSet::new();
            set.go(move || {
                may_end.recv().unwrap();
                LAST.set(Some(Box::new(move || {
                    ends.send(()).unwrap();
                    let _ = released.recv();
                })));
                CALLS_LAST.with(|_| ());
                7
            });
            ctx.run(|| set.join_next().unwrap().unwrap())
        });
        end.send(()).unwrap();
        is_ending.recv().unwrap();
        // `join_next` has waited, and been told. The goroutine hasn't ended.
        cancel.cancel();
        drop(release);
        assert_eq!(joins.join().unwrap(), Ok(7));
    });
}

fn goroutines_that_were_detached_from_a_run_go_on() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let (tx, rx) = bounded(0);
        let sends = ctx.run(|| go(move || tx.send(7))).unwrap();
        cancel.cancel();
        assert_eq!(rx.recv(), Ok(7));
        sends.join().unwrap().unwrap();
    });
}

fn a_scope_that_fails_aborts_the_others() {
    run(|| {
        let waits = || never::<()>().recv().is_ok();
        let failed: Result<(), _> = try_scope(|s| {
            s.go(waits);
            Err("of the body")
        });
        assert_eq!(failed, Err("of the body"));
        let panicked = catch_unwind(|| {
            try_scope(|s| {
                s.go(waits);
                if true { panic_any(7) } else { Ok::<_, ()>(()) }
            })
        });
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&7));
        // If the body doesn't fail, the goroutines go on to their end.
        let (tx, rx) = bounded(0);
        let (sent, received) = (AtomicU32::new(0), &rx);
        let done: Result<u32, ()> = try_scope(|s| {
            s.go(|| sent.store(received.recv().unwrap(), Ordering::Relaxed));
            s.go(|| tx.send(7).unwrap());
            Ok(1)
        });
        assert_eq!((done, sent.into_inner()), (Ok(1), 7));
        // A run outside of it ends it.
        let (ctx, cancel) = Context::background().with_cancel();
        let ended = ctx.run(|| {
            try_scope(|s| {
                s.go(waits);
                cancel.cancel();
                Ok::<_, ()>(())
            })
        });
        assert_eq!(ended, Err(ContextError::Canceled));
    });
}

fn a_bound_value_is_seen_in_the_call() {
    let check = || {
        assert!(!USER.is_bound());
        USER.bind("one".to_owned(), || {
            assert_eq!(USER.get().as_deref(), Some("one"));
            ATTEMPT.bind(1, || {
                USER.bind("two".to_owned(), || {
                    assert_eq!((USER.get().as_deref(), ATTEMPT.get()), (Some("two"), Some(1)));
                });
                assert_eq!(USER.get().as_deref(), Some("one"));
            });
            assert_eq!(ATTEMPT.get(), None);
        });
        assert!(!USER.is_bound());
    };
    check();
    run(check);
}

fn scopes_see_bound_values() {
    run(|| {
        USER.bind("one".to_owned(), || {
            scope(|s| {
                s.go(|| {
                    assert_eq!(USER.get().as_deref(), Some("one"));
                    USER.bind("two".to_owned(), || {
                        scope(|s| s.go(|| assert_eq!(USER.get().as_deref(), Some("two"))).join().unwrap());
                    });
                });
            });
            assert!(!go(|| USER.is_bound()).join().unwrap());
        });
    });
}

fn a_set_sees_no_bound_values() {
    static KEPT: ScopedValue<Arc<()>> = ScopedValue::new();
    run(|| {
        let (kept, mut set) = (Arc::new(()), JoinSet::new());
        let (tx, rx) = bounded(0);
        KEPT.bind(kept.clone(), || {
            let seen = err_group(&Context::background(), |group| {
                group.go(|_| KEPT.get().map(drop).ok_or("it sees nothing"));
                Ok(())
            });
            assert_eq!(seen, Ok(()));
            set.go(move || {
                rx.recv().unwrap();
                KEPT.is_bound()
            });
        });
        assert_eq!(Arc::strong_count(&kept), 1, "it is dropped, although the goroutine goes on");
        tx.send(()).unwrap();
        assert_eq!(set.join_all(), [false]);
        let mut set = JoinSet::new();
        KEPT.bind(kept, || {
            let again = KEPT.get().unwrap();
            set.go(move || KEPT.bind(again, || KEPT.is_bound()));
        });
        assert_eq!(set.join_all(), [true]);
    });
}

fn a_panic_unbinds() {
    run(|| {
        let panics = catch_unwind(|| ATTEMPT.bind(1, || panic_any(ATTEMPT.get().unwrap())));
        assert_eq!(panics.map(|_: ()| ()).unwrap_err().downcast_ref(), Some(&1_u32));
        assert_eq!(ATTEMPT.get(), None);
    });
}

fn bindings_and_runs_together() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let result = ATTEMPT.bind(1, || {
            ctx.run(|| {
                ATTEMPT.bind(2, || {
                    cancel.cancel();
                    assert_eq!(shield(|| ATTEMPT.get()), Some(2));
                    never::<()>().recv()
                })
            })
        });
        assert!(result.is_err() && !ATTEMPT.is_bound());
    });
}

/// What can't begin has no end, so the set doesn't wait for it.
fn a_set_before_the_first_run(test: Test) {
    let process = test.process(|| {
        let mut set = JoinSet::new();
        assert!(catch_unwind(AssertUnwindSafe(|| set.go(|| 1))).is_err());
        run(|| {
            set.go(|| 2);
            assert_eq!(set.join_next().unwrap().unwrap(), 2);
            assert!(set.join_next().is_none());
        });
    });
    process.end().with("exit status: 0");
}
