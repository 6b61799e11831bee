//! Contexts in a tree: which ends which, when, why, and what they carry.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gosched::chan::{TryRecvError, bounded};
use gosched::context::{Canceler, Context, ContextError, Key};
use gosched::{blocking, go, run, scope, yield_now};

use crate::harness::memory;
use crate::harness::panics::panics;
use crate::harness::{Test, tests};

tests! {
    the_background_never_ends
    children_end_with_their_parents
    children_beside_one_that_has_ended
    the_earliest_deadline_counts
    a_deadline_that_has_passed
    the_first_reason_stays
    values
    functions_are_called_once
    functions_that_are_stopped
    what_is_gone_is_forgotten
    trees_as_deep_as_they_like
    anywhere
    before_the_first_run
}

const CANCELED: Option<ContextError> = Some(ContextError::Canceled);
const LATE: Option<ContextError> = Some(ContextError::DeadlineExceeded);
const LONG: Duration = Duration::from_secs(3600);
const MS: Duration = Duration::from_millis(1);

fn the_background_never_ends() {
    let ctx = Context::background();
    assert_eq!((ctx.err(), ctx.deadline()), (None, None));
    assert!(ctx.cause().is_none());
    assert_eq!(ctx.done().try_recv(), Err(TryRecvError::Empty));
    assert_eq!(ctx.check(), Ok(()));
}

fn children_end_with_their_parents() {
    run(|| {
        let (root, cancel_root) = Context::background().with_cancel();
        let (left, cancel_left) = root.with_cancel();
        let (right, _cancel_right) = root.with_timeout(LONG);
        let (leaf, _cancel_leaf) = left.with_cancel();
        let apart = leaf.without_cancel();
        let (apart_leaf, _cancel_apart) = apart.with_cancel();
        cancel_left.cancel();
        assert_eq!([&root, &left, &right, &leaf].map(Context::err), [None, CANCELED, None, CANCELED]);
        drop(cancel_root);
        assert_eq!([&root, &left, &right, &leaf].map(Context::err), [CANCELED; 4]);
        assert_eq!([&apart, &apart_leaf].map(Context::err), [None; 2]);
        // A context that is made too late has ended from the start.
        let (late, _cancel_late) = right.with_timeout(LONG);
        assert_eq!((late.err(), late.done().try_recv()), (CANCELED, Err(TryRecvError::Disconnected)));
    });
}

fn children_beside_one_that_has_ended() {
    for ended in 0..3 {
        let (root, cancel) = Context::background().with_cancel();
        let children: [_; 3] = std::array::from_fn(|_| root.with_cancel());
        children[ended].1.cancel();
        cancel.cancel();
        let errors = children.each_ref().map(|(ctx, _)| ctx.err());
        assert_eq!(errors, [CANCELED; 3], "child {ended} had ended");
    }
}

fn the_earliest_deadline_counts() {
    run(|| {
        let (soon, _cancel_soon) = Context::background().with_timeout(5 * MS);
        let (later, _cancel_later) = soon.with_timeout(LONG);
        assert_eq!(later.deadline(), soon.deadline());
        let (never, _cancel_never) = Context::background().with_timeout(Duration::MAX);
        assert_eq!(never.deadline(), None);
        let (sooner, _cancel_sooner) = never.with_deadline(soon.deadline().unwrap());
        assert_eq!(later.done().recv().map_err(|_| later.err()), Err(LATE));
        assert!(Instant::now() >= soon.deadline().unwrap());
        assert!(sooner.done().recv().is_err());
        assert_eq!([&soon, &sooner, &never].map(Context::err), [LATE, LATE, None]);
    });
}

fn a_deadline_that_has_passed() {
    run(|| {
        let (ctx, cancel) = Context::background().with_deadline(Instant::now());
        assert_eq!(ctx.err(), LATE);
        cancel.cancel();
        assert_eq!(ctx.err(), LATE);
    });
}

fn the_first_reason_stays() {
    let (parent, cancel) = Context::background().with_cancel();
    let (child, cancel_child) = parent.with_cancel();
    cancel_child.cancel_because(io::Error::from_raw_os_error(libc::ENOSPC));
    cancel.cancel_because("another");
    cancel_child.cancel_because("a third");
    assert_eq!(parent.cause().unwrap().to_string(), "another");
    let cause = child.cause().unwrap();
    assert_eq!(cause.downcast_ref::<io::Error>().unwrap().raw_os_error(), Some(libc::ENOSPC));
    let (plain, cancel) = child.without_cancel().with_cancel();
    drop(cancel);
    assert_eq!(plain.cause().unwrap().downcast_ref(), Some(&ContextError::Canceled));
}

enum Name {}
impl Key for Name {
    type Value = &'static str;
}

enum Number {}
impl Key for Number {
    type Value = Arc<AtomicUsize>;
}

fn values() {
    let number = Arc::new(AtomicUsize::new(0));
    let named = Context::background().with_value::<Name>("outer");
    let both = named.with_value::<Number>(number.clone());
    let inner = both.with_cancel().0.with_value::<Name>("inner");
    assert_eq!((named.value::<Name>(), named.value::<Number>().is_some()), (Some(&"outer"), false));
    assert_eq!(inner.value::<Name>(), Some(&"inner"));
    inner.without_cancel().value::<Number>().unwrap().store(7, Ordering::Relaxed);
    assert_eq!((number.load(Ordering::Relaxed), Arc::strong_count(&number)), (7, 2));
    drop((named, both, inner));
    assert_eq!(Arc::strong_count(&number), 1);
}

fn functions_are_called_once() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let (tx, rx) = bounded(4);
        let later = {
            let tx = tx.clone();
            ctx.after_func(move || tx.send("at the end").unwrap())
        };
        let child = ctx.with_cancel();
        let of_child = {
            let tx = tx.clone();
            child.0.after_func(move || tx.send("at the end").unwrap())
        };
        yield_now();
        assert!(rx.is_empty());
        cancel.cancel();
        cancel.cancel();
        assert_eq!([rx.recv(), rx.recv()], [Ok("at the end"); 2]);
        assert!(!later.stop() && !of_child.stop());
        let _at_once = ctx.after_func(move || tx.send("at once").unwrap());
        assert_eq!(rx.iter().collect::<Vec<_>>(), ["at once"]);
    });
}

/// What the functions own is dropped when they are stopped.
fn functions_that_are_stopped() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let owned = Arc::new(());
        let func = |owned: &Arc<()>| {
            let owned = owned.clone();
            ctx.after_func(move || unreachable!("{owned:?}"))
        };
        let (stopped, dropped) = (func(&owned), func(&owned));
        assert_eq!(Arc::strong_count(&owned), 3);
        assert!(stopped.stop() && !stopped.stop());
        drop(dropped);
        assert_eq!(Arc::strong_count(&owned), 1);
        let background = Context::background().after_func(|| unreachable!("it never ends"));
        assert!(!background.stop());
        cancel.cancel();
        yield_now();
    });
}

/// A parent doesn't keep the memory of children that are gone.
fn what_is_gone_is_forgotten(test: Test) {
    let process = test.process(|| {
        run(|| {
            let (root, _cancel) = Context::background().with_cancel();
            let make = |n: usize| {
                for _ in 0..n {
                    let (ctx, _cancel) = root.with_timeout(LONG);
                    let _func = ctx.after_func(|| ());
                    let (leaf, _cancel_leaf) = ctx.with_cancel();
                    assert_eq!(leaf.err(), None);
                }
            };
            make(10_000);
            let before = memory::resident();
            make(100_000);
            let after = memory::resident();
            assert!(after < before + (10 << 20), "{before} bytes before, {after} after");
        });
    });
    process.end().with("exit status: 0");
}

fn trees_as_deep_as_they_like(test: Test) {
    const DEPTH: usize = 200_000;
    let process = test.process(|| {
        let (root, cancel) = Context::background().with_cancel();
        let mut chain: Vec<(Context, Canceler)> = vec![root.with_cancel()];
        for i in 0..DEPTH {
            let next = chain[i].0.with_value::<Name>("deep").with_cancel();
            chain.push(next);
        }
        let leaf = chain.last().unwrap().0.clone();
        // Only the leaf keeps the others.
        chain.into_iter().for_each(|(_, cancel)| std::mem::forget(cancel));
        assert_eq!(leaf.err(), None);
        cancel.cancel();
        assert_eq!((leaf.err(), leaf.value::<Name>()), (CANCELED, Some(&"deep")));
        drop(leaf);
        let mut leaf = Context::background();
        for _ in 0..DEPTH {
            let (next, cancel) = leaf.with_value::<Name>("deep").with_cancel();
            std::mem::forget(cancel);
            leaf = next;
        }
        drop(leaf);
    });
    process.end().with("exit status: 0");
}

/// On threads, inside `blocking`, and while others wait for it.
fn anywhere() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let waits: Vec<_> = (0..10)
            .map(|_| {
                let ctx = ctx.clone();
                go(move || ctx.sleep(LONG))
            })
            .collect();
        yield_now();
        blocking(|| {
            thread::scope(|s| {
                for _ in 0..4 {
                    s.spawn(|| cancel.cancel());
                }
            });
            assert_eq!(ctx.err(), CANCELED);
        });
        waits.into_iter().for_each(|wait| assert_eq!(wait.join().unwrap().err(), CANCELED));
        scope(|s| {
            let (ctx, cancel) = ctx.without_cancel().with_cancel();
            let on_a_thread =
                s.go(move || blocking(|| thread::scope(|s| s.spawn(|| ctx.sleep(LONG)).join())));
            yield_now();
            drop(cancel);
            assert_eq!(on_a_thread.join().unwrap().unwrap().err(), CANCELED);
        });
    });
}

fn before_the_first_run(test: Test) {
    let process = test.process(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let message = panics(|| drop(ctx.after_func(|| ())));
        assert_eq!(message, "gosched::context::Context::after_func called before the first gosched::run");
        assert!(panics(|| _ = ctx.with_timeout(LONG)).contains("time::Timer::after_func"));
        cancel.cancel();
        assert_eq!((ctx.err(), ctx.done().try_recv()), (CANCELED, Err(TryRecvError::Disconnected)));
    });
    process.end().with("exit status: 0");
}
