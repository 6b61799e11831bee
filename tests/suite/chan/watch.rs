//! A value that changes, and its receivers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::chan::watch::{self, Ref};
use gosched::chan::{RecvError, RecvTimeoutError, bounded};
use gosched::context::{Context, ContextError, RecvContextError};
use gosched::{block_on, go, run, scope, select, yield_now};

use crate::harness::explored::{in_any_order, times};
use crate::harness::futures::{Task, waits_and_calls};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::panics::panics;
use crate::harness::tests;

tests! {
    a_value_is_seen_once
    without_a_receiver
    without_a_sender
    a_receiver_that_is_cloned
    modifications
    a_modification_that_panics
    the_old_value_is_dropped_without_the_lock
    a_borrow_holds_up_a_send
    each_kind_of_wait
    a_condition
    a_condition_with_a_limit
    a_condition_that_panics
    the_last_value_is_never_missed
    who_waits_learns_of_the_end
    who_waits_for_receivers_learns_of_the_last
    a_wait_that_is_given_up_leaves_nothing
    a_waker_may_use_the_channel
    threads
}

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

fn a_value_is_seen_once() {
    // On a thread, before the runtime has started.
    let (tx, mut rx) = watch::channel(1);
    assert_eq!((*rx.borrow(), rx.has_changed()), (1, Ok(false)));
    tx.send(2).unwrap();
    tx.send(3).unwrap();
    assert_eq!(rx.has_changed(), Ok(true));
    let value = rx.borrow();
    assert!(*value == 3 && value.has_changed());
    drop(value);
    assert_eq!(rx.has_changed(), Ok(true), "a borrow doesn't mark it as seen");
    let value = rx.borrow_and_update();
    assert!(*value == 3 && value.has_changed());
    drop(value);
    assert!(!rx.borrow_and_update().has_changed());
    assert_eq!(rx.has_changed(), Ok(false));
    // Of two values, one change is left.
    tx.send(4).unwrap();
    tx.send(4).unwrap();
    assert_eq!((rx.changed(), rx.has_changed(), *rx.borrow()), (Ok(()), Ok(false), 4));
    rx.mark_changed();
    assert_eq!((rx.has_changed(), rx.changed(), rx.has_changed()), (Ok(true), Ok(()), Ok(false)));
    tx.send(5).unwrap();
    rx.mark_unchanged();
    assert_eq!(rx.has_changed(), Ok(false));
    assert!(!tx.borrow().has_changed());
}

fn without_a_receiver() {
    let (tx, rx) = watch::channel(1);
    assert_eq!((tx.receiver_count(), tx.is_closed()), (1, false));
    drop(rx);
    assert_eq!((tx.receiver_count(), tx.is_closed()), (0, true));
    assert_eq!((tx.send(2).unwrap_err().0, *tx.borrow()), (2, 1));
    assert_eq!((tx.send_replace(3), *tx.borrow()), (1, 3));
    tx.send_modify(|value| *value += 1);
    tx.closed();
    let mut rx = tx.subscribe();
    assert_eq!((*rx.borrow(), rx.has_changed(), tx.is_closed()), (4, Ok(false), false));
    tx.send(5).unwrap();
    assert_eq!(rx.changed(), Ok(()));
}

fn without_a_sender() {
    let (tx, mut rx) = watch::channel(1);
    let other = tx.clone();
    assert!(tx.same_channel(&other));
    assert_eq!((tx.sender_count(), rx.is_closed()), (2, false));
    tx.send(2).unwrap();
    drop(tx);
    assert_eq!((rx.has_changed(), other.sender_count(), rx.is_closed()), (Ok(true), 1, false));
    drop(other);
    assert!(rx.is_closed());
    assert_eq!(rx.has_changed(), Err(RecvError), "even if there is one");
    assert_eq!((rx.changed(), rx.changed()), (Ok(()), Err(RecvError)));
    assert_eq!(rx.changed_timeout(HOUR), Err(RecvTimeoutError::Disconnected));
    assert_eq!(*rx.borrow_and_update(), 2);
    assert!(rx.wait_for(|&value| value == 2).is_ok(), "a value that was seen is looked at");
    assert_eq!(rx.wait_for(|&value| value == 3).map(|_| ()), Err(RecvError));
    assert!(rx.c().recv().is_err());
}

fn a_receiver_that_is_cloned() {
    let (tx, mut rx) = watch::channel(1);
    tx.send(2).unwrap();
    let mut other = rx.clone();
    assert_eq!(tx.receiver_count(), 2);
    assert!(rx.same_channel(&other) && !rx.same_channel(&watch::channel(1).1));
    assert_eq!((rx.changed(), rx.has_changed()), (Ok(()), Ok(false)));
    assert_eq!((other.has_changed(), other.changed()), (Ok(true), Ok(())));
    assert_eq!(rx.clone().has_changed(), Ok(false));
    drop((rx, other));
    assert!(tx.is_closed());
}

fn modifications() {
    let (tx, mut rx) = watch::channel(vec![1]);
    assert!(!tx.send_if_modified(|value| {
        value.push(2);
        false
    }));
    assert_eq!((rx.has_changed(), &*rx.borrow()), (Ok(false), &vec![1, 2]));
    assert!(tx.send_if_modified(|value| value.pop().is_some()));
    assert_eq!(rx.changed(), Ok(()));
    tx.send_modify(Vec::clear);
    assert!(rx.borrow_and_update().is_empty());
    assert_eq!(tx.send_replace(vec![3]), []);
    assert_eq!(*rx.borrow_and_update(), [3]);
}

fn a_modification_that_panics() {
    run(|| {
        let (tx, mut rx) = watch::channel(1);
        let watcher = rx.clone();
        let waits = go_until_it_waits(move || {
            let mut watcher = watcher;
            watcher.changed().map(|()| *watcher.borrow())
        });
        let text = panics(|| {
            tx.send_modify(|value| {
                *value = 2;
                panic!("half done");
            });
        });
        assert_eq!(text, "half done");
        assert_eq!((rx.has_changed(), *rx.borrow()), (Ok(false), 2));
        tx.send(3).unwrap();
        assert_eq!(waits.join().unwrap(), Ok(3));
        assert_eq!(rx.changed(), Ok(()));
    });
}

/// Uses the channel when it is dropped.
struct Looks(Option<watch::Receiver<Looks>>, Arc<AtomicUsize>);

impl Drop for Looks {
    fn drop(&mut self) {
        if let Some(rx) = &self.0 {
            assert!(rx.borrow().0.is_none());
        }
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

fn the_old_value_is_dropped_without_the_lock() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let (tx, rx) = watch::channel(Looks(None, dropped.clone()));
    let _keeps = rx.clone();
    tx.send(Looks(Some(rx), dropped.clone())).ok().unwrap();
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    tx.send(Looks(None, dropped.clone())).ok().unwrap();
    assert_eq!(dropped.load(Ordering::Relaxed), 2);
}

pub fn a_borrow_holds_up_a_send() {
    in_any_order(|| {
        let (tx, rx) = watch::channel(1);
        let sent = Arc::new(AtomicBool::new(false));
        let value = rx.borrow();
        let sends = go_until_it_waits({
            let sent = sent.clone();
            move || {
                tx.send(2).unwrap();
                sent.store(true, Ordering::Relaxed);
            }
        });
        yield_now();
        assert!(*value == 1 && !sent.load(Ordering::Relaxed));
        drop(value);
        sends.join().unwrap();
        assert_eq!(*rx.borrow(), 2);
    });
}

pub fn each_kind_of_wait() {
    in_any_order(|| {
        type Wait = fn(&mut watch::Receiver<usize>) -> Result<(), RecvError>;
        let waits: [Wait; 5] = [
            |rx| rx.changed(),
            |rx| rx.changed_timeout(HOUR).map_err(|_| RecvError),
            |rx| block_on(rx.changed_async()),
            |rx| {
                let (ctx, _cancel) = Context::background().with_cancel();
                ctx.with_mut(rx).changed().map_err(|_| RecvError)
            },
            |rx| {
                let (_tx, never) = bounded::<()>(0);
                select! {
                    recv(rx.c()) -> _ => rx.changed(),
                    recv(never) -> _ => unreachable!(),
                }
            },
        ];
        for wait in waits {
            let (tx, mut rx) = watch::channel(0);
            let watcher = go(move || {
                let mut last = 0;
                while wait(&mut rx).is_ok() {
                    let value = *rx.borrow_and_update();
                    assert!(value > last, "it goes up, and no value comes twice");
                    last = value;
                }
                last
            });
            for value in 1..=times(100, 2) {
                tx.send(value).unwrap();
                yield_now();
            }
            drop(tx);
            assert_eq!(watcher.join().unwrap(), times(100, 2));
        }
        let (_tx, mut rx) = watch::channel(0);
        assert_eq!(rx.changed_timeout(MS), Err(RecvTimeoutError::Timeout));
        let (ctx, cancel) = Context::background().with_cancel();
        let ends = go(move || cancel.cancel());
        let canceled = RecvContextError::Ended(ContextError::Canceled);
        assert_eq!(ctx.with_mut(&mut rx).changed(), Err(canceled));
        assert_eq!(ctx.with_mut(&mut rx).wait_for(|_| true).map(|_| ()), Err(canceled));
        ends.join().unwrap();
    });
}

pub fn a_condition() {
    in_any_order(|| {
        type Wait = fn(&mut watch::Receiver<usize>, usize) -> Result<usize, RecvError>;
        let waits: [Wait; 4] = [
            |rx, n| rx.wait_for(|&value| value >= n).map(|value| *value),
            |rx, n| {
                let value = rx.wait_for_timeout(HOUR, |&value| value >= n).map(|value| *value);
                value.map_err(|_| RecvError)
            },
            |rx, n| block_on(async { rx.wait_for_async(|&value| value >= n).await.map(|value| *value) }),
            |rx, n| {
                let (ctx, _cancel) = Context::background().with_cancel();
                let value = ctx.with_mut(rx).wait_for(|&value| value >= n).map(|value| *value);
                value.map_err(|_| RecvError)
            },
        ];
        for wait in waits {
            let (tx, mut rx) = watch::channel(0);
            assert_eq!(wait(&mut rx, 0), Ok(0), "the value that is there comes first");
            let sends = go(move || (1..=4).for_each(|_| tx.send_modify(|value| *value += 1)));
            assert!(wait(&mut rx, 3).is_ok_and(|value| value >= 3));
            assert_eq!(wait(&mut rx, 4), Ok(4));
            assert_eq!(wait(&mut rx, 5), Err(RecvError));
            assert_eq!(rx.changed(), Err(RecvError), "all were seen");
            sends.join().unwrap();
        }
    });
}

/// Values that come don't make the time longer.
pub fn a_condition_with_a_limit() {
    in_any_order(|| {
        let (tx, mut rx) = watch::channel(0);
        let (stop, stopped) = bounded::<()>(0);
        let ticks = go(move || {
            while stopped.recv_timeout(MS) == Err(RecvTimeoutError::Timeout) {
                tx.send_modify(|value| *value += 1);
            }
            tx
        });
        let start = gosched::time::now();
        let late = rx.wait_for_timeout(20 * MS, |&value| value == usize::MAX).err();
        assert_eq!(late, Some(RecvTimeoutError::Timeout));
        assert!(gosched::time::now() - start >= 20 * MS);
        drop(stop);
        let tx = ticks.join().unwrap();
        tx.send(7).unwrap();
        assert!(rx.wait_for_timeout(Duration::ZERO, |&value| value == 7).is_ok(), "it is there");
        drop(tx);
        let end = rx.wait_for_timeout(HOUR, |&value| value == 8).err();
        assert_eq!(end, Some(RecvTimeoutError::Disconnected));
    });
}

fn a_condition_that_panics() {
    run(|| {
        let (tx, mut rx) = watch::channel(1);
        let failed = catch_unwind(AssertUnwindSafe(|| rx.wait_for(|_| panic!("no")).map(|_| ())));
        assert!(failed.is_err());
        tx.send(2).unwrap(); // the value isn't locked
        assert_eq!(*rx.borrow(), 2);
    });
}

pub fn the_last_value_is_never_missed() {
    in_any_order(|| {
        let ((tx, rx), n) = (watch::channel(0), times(200, 3));
        scope(|s| {
            for _ in 0..2 {
                let mut rx = rx.clone();
                s.go(move || {
                    while *rx.borrow_and_update() < 2 * n {
                        rx.changed().expect("the last value comes first");
                    }
                });
            }
            for _ in 0..2 {
                let tx = tx.clone();
                s.go(move || (0..n).for_each(|_| tx.send_modify(|value| *value += 1)));
            }
            drop((tx, rx));
        });
    });
}

pub fn who_waits_learns_of_the_end() {
    in_any_order(|| {
        let (tx, rx) = watch::channel(0);
        let waits: Vec<_> = (0..3)
            .map(|i| {
                let mut rx = rx.clone();
                go(move || match i {
                    0 => rx.changed(),
                    1 => rx.wait_for(|&value| value == 1).map(|_| ()),
                    _ => block_on(rx.changed_async()),
                })
            })
            .collect();
        let other = tx.clone();
        go(move || drop(other));
        drop(tx);
        waits.into_iter().for_each(|waits| assert_eq!(waits.join().unwrap(), Err(RecvError)));
    });
}

pub fn who_waits_for_receivers_learns_of_the_last() {
    in_any_order(|| {
        let (tx, rx) = watch::channel(0);
        let other = rx.clone();
        let [blocks, polls, selects] = [0, 1, 2].map(|how| {
            let tx = tx.clone();
            go(move || match how {
                0 => tx.closed(),
                1 => block_on(tx.closed_async()),
                _ => select! { recv(tx.c()) -> _ => {} },
            })
        });
        go(move || drop(other));
        drop(rx);
        [blocks, polls, selects].into_iter().for_each(|waits| waits.join().unwrap());
        assert!(tx.is_closed());
    });
}

fn a_wait_that_is_given_up_leaves_nothing() {
    run(|| {
        let (tx, mut rx) = watch::channel(0);
        let task = Task::waits(rx.changed_async());
        let woken = task.woken.clone();
        drop(task);
        assert_eq!(Arc::strong_count(&woken), 1, "the waker is gone");
        let task = Task::waits(rx.changed_async());
        tx.send(1).unwrap();
        assert_eq!(task.times_woken(), 1);
        drop(task);
        assert_eq!(rx.has_changed(), Ok(true), "nothing was marked as seen");
        assert_eq!(block_on(rx.changed_async()), Ok(()));
        for _ in 0..100 {
            assert!(rx.changed_timeout(Duration::ZERO).is_err());
        }
    });
}

fn a_waker_may_use_the_channel() {
    run(|| {
        let (tx, rx) = watch::channel(0);
        let (sender, mut receiver) = (tx.clone(), rx.clone());
        let waits = waits_and_calls(async move { receiver.changed_async().await }, move || {
            sender.send_modify(|value| *value += 1)
        });
        tx.send(1).unwrap();
        crate::harness::goroutines::wait_until(|| *rx.borrow() == 2);
        drop(waits);
    });
}

fn threads() {
    run(|| {
        let (tx, rx) = watch::channel(0);
        let watchers: Vec<_> = (0..3)
            .map(|_| {
                let mut rx = rx.clone();
                thread::spawn(move || {
                    let mut last = 0;
                    while rx.changed().is_ok() {
                        last = *rx.borrow_and_update();
                    }
                    last
                })
            })
            .collect();
        (1..=1000).for_each(|value| tx.send(value).unwrap());
        drop(tx);
        gosched::blocking(|| {
            watchers.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), 1000))
        });
    });
}

/// A reference stays covariant, and can be told from its value.
fn _shorter<'a>(text: Ref<'a, &'static str>) -> Ref<'a, &'a str> {
    text
}
