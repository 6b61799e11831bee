//! Channels whose receivers each get every value.

use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::chan::bounded;
use gosched::chan::broadcast::{
    self, Receiver, RecvContextError, RecvError, RecvTimeoutError, Sender, TryRecvError,
};
use gosched::context::{Context, ContextError};
use gosched::{block_on, go, run, scope, select, yield_now};

use crate::harness::explored::{each, in_any_order, times};
use crate::harness::futures::{Task, waits_and_calls};
use crate::harness::goroutines::{go_until_it_waits, wait_until};
use crate::harness::panics::panics;
use crate::harness::tests;

tests! {
    each_receiver_gets_each_value
    a_receiver_that_lags_learns_how_many_it_has_missed
    without_a_receiver
    without_a_sender
    who_subscribes_gets_what_comes
    a_capacity_that_no_channel_has
    a_sender_counts_what_is_kept
    a_sender_waits_for_the_last_receiver
    values_are_dropped_when_all_have_seen_them
    values_are_dropped_with_the_last_receiver
    if_the_drop_of_a_value_panics
    if_the_clone_of_a_value_panics
    a_clone_and_a_drop_may_use_the_channel
    each_kind_of_wait
    who_waits_learns_of_the_end
    nothing_is_lost_or_doubled
    what_was_missed_and_what_was_received_is_all
    a_wait_that_is_given_up_leaves_nothing
    a_waker_may_use_the_channel
    threads
}

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

fn each_receiver_gets_each_value() {
    // On a thread, before the runtime has started.
    let (tx, mut rx) = broadcast::channel(4);
    let mut other = tx.subscribe();
    assert!(tx.same_channel(&tx.clone()) && rx.same_channel(&other));
    for n in 0..100 {
        assert_eq!((rx.len(), rx.is_empty()), (0, true));
        assert_eq!(tx.send(n), Ok(2));
        assert_eq!((rx.len(), other.len()), (1, 1));
        assert_eq!((rx.recv(), other.try_recv()), (Ok(n), Ok(n)));
        assert_eq!((rx.try_recv(), other.try_recv()), (Err(TryRecvError::Empty), Err(TryRecvError::Empty)));
    }
}

fn a_receiver_that_lags_learns_how_many_it_has_missed() {
    for capacity in 1..6 {
        for sent in 0..20 {
            for received in 0..=2.min(capacity) {
                let (tx, mut rx) = broadcast::channel(capacity);
                (0..received).for_each(|n| assert!(tx.send(n).is_ok()));
                (0..received).for_each(|n| assert_eq!(rx.recv(), Ok(n)));
                (received..received + sent).for_each(|n| assert!(tx.send(n).is_ok()));
                assert_eq!(rx.len(), sent);
                let kept = sent.min(capacity);
                if sent > kept {
                    assert_eq!(rx.try_recv(), Err(TryRecvError::Lagged((sent - kept) as u64)));
                }
                assert_eq!(rx.len(), kept);
                for n in 0..kept {
                    assert_eq!(rx.recv(), Ok(received + sent - kept + n));
                }
                assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
            }
        }
    }
    // It may lag again before it has received.
    let (tx, mut rx) = broadcast::channel(2);
    (0..3).for_each(|n| assert!(tx.send(n).is_ok()));
    assert_eq!(rx.recv(), Err(RecvError::Lagged(1)));
    (3..6).for_each(|n| assert!(tx.send(n).is_ok()));
    assert_eq!(rx.recv(), Err(RecvError::Lagged(3)));
    drop(tx);
    assert_eq!((rx.recv(), rx.recv(), rx.recv()), (Ok(4), Ok(5), Err(RecvError::Closed)));
}

fn without_a_receiver() {
    let (tx, rx) = broadcast::channel(4);
    assert_eq!((tx.receiver_count(), tx.send(1)), (1, Ok(1)));
    drop(rx);
    assert_eq!((tx.receiver_count(), tx.send(2).unwrap_err().0), (0, 2));
    let mut rx = tx.subscribe();
    assert_eq!((rx.try_recv(), tx.send(3), rx.recv()), (Err(TryRecvError::Empty), Ok(1), Ok(3)));
    assert!(Sender::new(1).send("nobody").is_err());
}

fn without_a_sender() {
    let (tx, mut rx) = broadcast::channel(4);
    let other = tx.clone();
    assert_eq!((tx.sender_count(), rx.is_closed()), (2, false));
    tx.send(1).unwrap();
    drop(tx);
    assert_eq!((other.sender_count(), rx.is_closed()), (1, false));
    other.send(2).unwrap();
    drop(other);
    assert!(rx.is_closed());
    assert_eq!((rx.recv(), rx.recv_timeout(HOUR)), (Ok(1), Ok(2)));
    assert_eq!((rx.recv(), rx.try_recv()), (Err(RecvError::Closed), Err(TryRecvError::Closed)));
    assert_eq!(rx.recv_timeout(HOUR), Err(RecvTimeoutError::Closed));
    assert_eq!(rx.resubscribe().recv(), Err(RecvError::Closed));
    assert!(rx.c().recv().is_err());
}

fn who_subscribes_gets_what_comes() {
    let (tx, mut rx) = broadcast::channel(4);
    tx.send(1).unwrap();
    let (mut second, mut third) = (tx.subscribe(), rx.resubscribe());
    assert_eq!(tx.send(2), Ok(3));
    assert_eq!((rx.recv(), rx.recv(), second.recv(), third.recv()), (Ok(1), Ok(2), Ok(2), Ok(2)));
}

fn a_capacity_that_no_channel_has() {
    assert!(panics(|| broadcast::channel::<u32>(0)).contains("at least one value"));
    for too_many in [1 << 58, usize::MAX] {
        assert!(panics(|| broadcast::channel::<u32>(too_many)).contains("no memory"));
    }
}

fn a_sender_counts_what_is_kept() {
    let (tx, mut rx) = broadcast::channel(4);
    assert!(tx.is_empty());
    (0..3).for_each(|n| assert_eq!(tx.send(n), Ok(1)));
    assert_eq!(tx.len(), 3);
    let mut late = tx.subscribe();
    assert_eq!((rx.recv(), rx.recv(), tx.len()), (Ok(0), Ok(1), 1));
    tx.send(3).unwrap();
    assert_eq!((rx.recv(), rx.recv(), tx.len()), (Ok(2), Ok(3), 1), "the late one hasn't seen it");
    assert_eq!((late.recv(), tx.len()), (Ok(3), 0));
    (4..9).for_each(|n| assert_eq!(tx.send(n), Ok(2)));
    assert_eq!((tx.len(), rx.len()), (4, 5), "one was missed");
    drop(rx);
    assert_eq!(tx.len(), 4);
    drop(late);
    assert!(tx.is_empty());
}

pub fn a_sender_waits_for_the_last_receiver() {
    in_any_order(|| {
        type Wait = fn(&broadcast::Sender<u32>);
        let waits: [Wait; 4] = [
            |tx| tx.closed(),
            |tx| block_on(tx.closed_async()),
            |tx| {
                let (ctx, _cancel) = Context::background().with_cancel();
                assert!(ctx.with(&tx.c()).recv().is_err());
            },
            |tx| select! { recv(tx.c()) -> end => assert!(end.is_err()) },
        ];
        for wait in waits {
            let (tx, rx) = broadcast::channel(1);
            let other = tx.subscribe();
            tx.send(1).unwrap();
            let waits = go_until_it_waits(move || {
                wait(&tx);
                wait(&tx);
                let rx = tx.subscribe();
                (tx.send(2), tx.receiver_count(), rx)
            });
            drop(rx);
            yield_now();
            assert!(!waits.is_finished());
            drop(other);
            let (sent, receivers, mut rx) = waits.join().unwrap();
            assert_eq!((sent, receivers, rx.recv()), (Ok(1), 1, Ok(2)));
        }
    });
}

fn values_are_dropped_when_all_have_seen_them() {
    let value = Arc::new(());
    let (tx, mut rx) = broadcast::channel(4);
    let mut other = tx.subscribe();
    (0..3).for_each(|_| assert!(tx.send(value.clone()).is_ok()));
    assert_eq!(Arc::strong_count(&value), 4);
    assert!(rx.recv().is_ok());
    assert_eq!(Arc::strong_count(&value), 4, "one hasn't seen it");
    assert!(other.recv().is_ok());
    assert_eq!(Arc::strong_count(&value), 3);
    drop(rx);
    assert_eq!(Arc::strong_count(&value), 3, "one hasn't seen them");
    // It has as many as it keeps, and two more.
    (0..4).for_each(|_| assert!(tx.send(value.clone()).is_ok()));
    assert_eq!(Arc::strong_count(&value), 5);
    assert_eq!(other.try_recv(), Err(TryRecvError::Lagged(2)));
    drop(other);
    assert_eq!(Arc::strong_count(&value), 1);
}

fn values_are_dropped_with_the_last_receiver() {
    let value = Arc::new(());
    let (tx, rx) = broadcast::channel(4);
    let late = {
        (0..3).for_each(|_| assert!(tx.send(value.clone()).is_ok()));
        let late = tx.subscribe();
        (0..3).for_each(|_| assert!(tx.send(value.clone()).is_ok()));
        late
    };
    assert_eq!(Arc::strong_count(&value), 5);
    drop(rx);
    assert_eq!(Arc::strong_count(&value), 4, "the other has three to see");
    drop(tx);
    drop(late);
    assert_eq!(Arc::strong_count(&value), 1);
}

/// Counts itself. Panics when it is dropped or cloned, if asked to.
struct Value<'a> {
    dropped: &'a AtomicUsize,
    panics: bool,
}

impl Clone for Value<'_> {
    fn clone(&self) -> Self {
        assert!(!self.panics, "a value's clone");
        Value { ..*self }
    }
}

impl Drop for Value<'_> {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
        assert!(!self.panics || thread::panicking(), "a value's drop");
    }
}

fn if_the_drop_of_a_value_panics() {
    for bad in 0..5 {
        let dropped = AtomicUsize::new(0);
        let (tx, rx) = broadcast::channel(5);
        for i in 0..5 {
            assert!(tx.send(Value { dropped: &dropped, panics: i == bad }).is_ok());
        }
        assert_eq!(panics(|| drop(rx)), "a value's drop");
        assert_eq!((dropped.load(Ordering::Relaxed), tx.receiver_count()), (5, 0));
    }
    // A value that is replaced.
    let dropped = AtomicUsize::new(0);
    let (tx, mut rx) = broadcast::channel(1);
    assert!(tx.send(Value { dropped: &dropped, panics: true }).is_ok());
    assert_eq!(panics(|| tx.send(Value { dropped: &dropped, panics: false })), "a value's drop");
    assert!(rx.recv().is_err_and(|error| error == RecvError::Lagged(1)));
    assert!(rx.recv().is_ok_and(|value| !value.panics), "it was sent");
}

fn if_the_clone_of_a_value_panics() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    let (tx, mut rx) = broadcast::channel(4);
    let mut other = tx.subscribe();
    for panics in [true, false] {
        assert!(tx.send(Value { dropped: &DROPPED, panics }).is_ok());
    }
    assert_eq!(panics(|| rx.recv()), "a value's clone");
    assert!(rx.recv().is_ok_and(|value| !value.panics), "it goes on with the next");
    let value = other.recv().ok().unwrap();
    assert!(value.panics, "the last one gets the value itself");
    assert!(catch_unwind(|| drop(value)).is_err());
    assert!(other.recv().is_ok());
    assert_eq!(DROPPED.load(Ordering::Relaxed), 3, "two, and a clone");
}

/// Sends to its channel, and receives from it, when it is cloned and when it is dropped.
struct Talks {
    tx: Option<Sender<Talks>>,
    rx: Arc<gosched::sync::Mutex<Option<Receiver<Talks>>>>,
}

impl Talks {
    fn talk(&self) {
        if let Some(tx) = &self.tx {
            tx.send(Talks { tx: None, rx: Arc::default() }).ok();
            let other = tx.subscribe();
            let rx = self.rx.lock().replace(other);
            drop(rx);
            yield_now();
        }
    }
}

impl Clone for Talks {
    fn clone(&self) -> Self {
        self.talk();
        Talks { tx: None, rx: Arc::default() }
    }
}

impl Drop for Talks {
    fn drop(&mut self) {
        self.talk();
    }
}

fn a_clone_and_a_drop_may_use_the_channel() {
    run(|| {
        let (tx, mut rx) = broadcast::channel(2);
        let mut other = tx.subscribe();
        let own = Arc::new(gosched::sync::Mutex::new(Some(tx.subscribe())));
        assert!(tx.send(Talks { tx: Some(tx.clone()), rx: own.clone() }).is_ok_and(|n| n == 3));
        assert!(rx.recv().is_ok() && other.recv().is_ok());
        (0..4).for_each(|_| assert!(tx.send(Talks { tx: None, rx: Arc::default() }).is_ok()));
        assert!(matches!(rx.try_recv(), Err(TryRecvError::Lagged(_))));
        drop(own);
        drop((rx, other));
    });
}

pub fn each_kind_of_wait() {
    in_any_order(|| {
        type Wait = fn(&mut Receiver<usize>) -> Result<usize, RecvError>;
        let waits: [Wait; 5] = [
            |rx| rx.recv(),
            |rx| rx.recv_timeout(HOUR).map_err(|_| RecvError::Closed),
            |rx| block_on(rx.recv_async()),
            |rx| {
                let (ctx, _cancel) = Context::background().with_cancel();
                ctx.with_mut(rx).recv().map_err(|_| RecvError::Closed)
            },
            |rx| {
                let (_tx, never) = bounded::<()>(0);
                select! {
                    recv(rx.c()) -> _ => rx.try_recv().map_err(|_| RecvError::Closed),
                    recv(never) -> _ => unreachable!(),
                }
            },
        ];
        let n = times(100, 3);
        for wait in waits {
            let (tx, mut rx) = broadcast::channel(n);
            let receives = go(move || {
                let mut received = 0;
                while let Ok(value) = wait(&mut rx) {
                    assert_eq!(value, received, "they come in order");
                    received += 1;
                }
                received
            });
            for value in 0..n {
                tx.send(value).unwrap();
                yield_now();
            }
            drop(tx);
            assert_eq!(receives.join().unwrap(), n);
        }
        let (_tx, mut rx) = broadcast::channel::<usize>(1);
        assert_eq!(rx.recv_timeout(MS), Err(RecvTimeoutError::Timeout));
        let (ctx, cancel) = Context::background().with_cancel();
        let ends = go(move || cancel.cancel());
        let canceled = RecvContextError::Ended(ContextError::Canceled);
        assert_eq!(ctx.with_mut(&mut rx).recv(), Err(canceled));
        ends.join().unwrap();
    });
}

pub fn who_waits_learns_of_the_end() {
    in_any_order(|| {
        let (tx, rx) = broadcast::channel::<u32>(1);
        let waits: Vec<_> = (0..2)
            .map(|i| {
                let mut rx = rx.resubscribe();
                go(move || if i == 0 { rx.recv() } else { block_on(rx.recv_async()) })
            })
            .collect();
        let other = tx.clone();
        go(move || drop(other));
        drop(tx);
        waits.into_iter().for_each(|waits| assert_eq!(waits.join().unwrap(), Err(RecvError::Closed)));
    });
}

pub fn nothing_is_lost_or_doubled() {
    in_any_order(|| {
        let n = times(500, 3);
        let (tx, rx) = broadcast::channel(2 * n);
        scope(|s| {
            for _ in 0..2 {
                let mut rx = rx.resubscribe();
                s.go(move || {
                    let mut next = [0; 2];
                    while let Ok((sender, i)) = rx.recv() {
                        assert_eq!(i, next[sender], "each sender's values come in order");
                        next[sender] += 1;
                    }
                    assert_eq!(next, [n; 2]);
                });
            }
            for sender in 0..2 {
                let tx = tx.clone();
                s.go(move || (0..n).for_each(|i| assert!(tx.send((sender, i)).is_ok())));
            }
            drop((tx, rx));
        });
    });
}

pub fn what_was_missed_and_what_was_received_is_all() {
    in_any_order(|| {
        let n = times(2000, 5);
        for capacity in each([1, 3]) {
            let (tx, rx) = broadcast::channel(capacity);
            scope(|s| {
                for _ in 0..2 {
                    let mut rx = rx.resubscribe();
                    s.go(move || {
                        let mut next = 0;
                        loop {
                            match rx.recv() {
                                Ok(value) => {
                                    assert_eq!(value, next);
                                    next += 1;
                                }
                                Err(RecvError::Lagged(missed)) => {
                                    assert!(missed > 0);
                                    next += missed;
                                }
                                Err(RecvError::Closed) => break,
                            }
                        }
                        assert_eq!(next, n as u64);
                    });
                }
                drop(rx);
                (0..n as u64).for_each(|value| assert!(tx.send(value).is_ok()));
                drop(tx);
            });
        }
    });
}

fn a_wait_that_is_given_up_leaves_nothing() {
    run(|| {
        let (tx, mut rx) = broadcast::channel(4);
        let task = Task::waits(rx.recv_async());
        let woken = task.woken.clone();
        drop(task);
        assert_eq!(Arc::strong_count(&woken), 1, "the waker is gone");
        let task = Task::waits(rx.recv_async());
        tx.send(1).unwrap();
        assert_eq!(task.times_woken(), 1);
        drop(task);
        assert_eq!(rx.recv(), Ok(1), "nothing was received");
    });
}

fn a_waker_may_use_the_channel() {
    run(|| {
        let (tx, mut rx) = broadcast::channel(4);
        let (sender, mut receiver) = (tx.clone(), tx.subscribe());
        let waits = waits_and_calls(async move { receiver.recv_async().await }, move || {
            sender.send(2).unwrap();
        });
        tx.send(1).unwrap();
        wait_until(|| rx.len() == 2);
        assert_eq!((rx.recv(), rx.recv()), (Ok(1), Ok(2)));
        drop(waits);
    });
}

fn threads() {
    run(|| {
        let (tx, rx) = broadcast::channel(1000);
        let receivers: Vec<_> = (0..3)
            .map(|_| {
                let mut rx = rx.resubscribe();
                thread::spawn(move || {
                    let mut sum = 0;
                    while let Ok(value) = rx.recv() {
                        sum += value;
                    }
                    sum
                })
            })
            .collect();
        drop(rx);
        (0..1000).for_each(|value| assert_eq!(tx.send(value), Ok(3)));
        drop(tx);
        gosched::blocking(|| {
            receivers.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), 499_500));
        });
    });
}
