//! Channels for one value.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use gosched::chan::{RecvError, RecvTimeoutError, TryRecvError, bounded, oneshot};
use gosched::context::{Context, ContextError, RecvContextError};
use gosched::{block_on, go, run, scope, select, yield_now};

use crate::harness::explored::in_any_order;
use crate::harness::futures::Task;
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::tests;

tests! {
    a_value_or_an_end
    each_kind_of_wait
    the_sender_waits_for_the_end
    a_wait_for_the_end_takes_no_value
    a_close_and_a_send_at_once
    a_future_that_is_dropped
    an_arm_of_a_select
    the_value_is_dropped_once
}

const MS: Duration = Duration::from_millis(1);

fn a_value_or_an_end() {
    // On a thread, before the runtime has started.
    let (tx, rx) = oneshot::channel();
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert!(!tx.is_closed() && rx.is_empty());
    assert_eq!(tx.send(1), Ok(()));
    assert!(!rx.is_empty());
    assert_eq!(rx.recv(), Ok(1));

    let (tx, rx) = oneshot::channel::<u32>();
    drop(tx);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(rx.recv(), Err(RecvError));

    let (tx, rx) = oneshot::channel();
    drop(rx);
    assert!(tx.is_closed());
    assert_eq!(tx.send(2), Err(2));

    let (tx, rx) = oneshot::channel::<u32>();
    rx.close();
    assert!(tx.is_closed());
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(tx.send(3), Err(3));
}

pub fn each_kind_of_wait() {
    in_any_order(|| {
        type Wait = fn(oneshot::Receiver<u32>) -> Result<u32, RecvError>;
        let waits: [Wait; 6] = [
            |rx| rx.recv(),
            |rx| rx.recv_timeout(Duration::from_secs(3600)).map_err(|_| RecvError),
            |rx| block_on(rx.into_future()),
            |rx| block_on(rx.recv_async()),
            |rx| {
                let (ctx, _cancel) = Context::background().with_cancel();
                ctx.with(&rx).recv().map_err(|_| RecvError)
            },
            |rx| select! { recv(rx) -> value => value },
        ];
        for wait in waits {
            let (tx, rx) = oneshot::channel();
            let waits = go(move || wait(rx));
            yield_now();
            tx.send(7).unwrap();
            assert_eq!(waits.join().unwrap(), Ok(7));
            let (tx, rx) = oneshot::channel();
            let waits = go(move || wait(rx));
            yield_now();
            drop(tx);
            assert_eq!(waits.join().unwrap(), Err(RecvError));
        }
        let (tx, rx) = oneshot::channel();
        assert_eq!(rx.recv_timeout(MS), Err(RecvTimeoutError::Timeout));
        let (ctx, _cancel) = Context::background().with_timeout(MS);
        assert!(matches!(ctx.with(&rx).recv(), Err(RecvContextError::Ended(_))));
        tx.send(1).unwrap();
        assert_eq!(rx.recv(), Ok(1));
    });
}

pub fn the_sender_waits_for_the_end() {
    in_any_order(|| {
        type Wait = fn(&oneshot::Sender<u32>);
        let waits: [Wait; 3] = [
            |tx| tx.closed(),
            |tx| block_on(tx.closed_async()),
            |tx| {
                let (ctx, _cancel) = Context::background().with_cancel();
                assert_eq!(ctx.with(tx).closed(), Ok(()));
            },
        ];
        for wait in waits {
            for closes in [false, true] {
                let (tx, rx) = oneshot::channel();
                let waits = go_until_it_waits(move || {
                    wait(&tx);
                    assert!(tx.is_closed());
                    wait(&tx);
                    tx.send(7)
                });
                if closes {
                    rx.close()
                } else {
                    drop(rx)
                }
                assert_eq!(waits.join().unwrap(), Err(7));
            }
        }
    });
}

/// The value goes to the receiver, and not to a wait that was given up.
pub fn a_wait_for_the_end_takes_no_value() {
    in_any_order(|| {
        let (tx, rx) = oneshot::channel();
        let (ctx, cancel) = Context::background().with_cancel();
        let ends = go(move || cancel.cancel());
        assert_eq!(ctx.with(&tx).closed(), Err(ContextError::Canceled));
        ends.join().unwrap();
        let mut task = Task::waits(tx.closed_async());
        let receives = go_until_it_waits(move || rx.recv());
        assert!(task.poll().is_none());
        drop(task);
        assert_eq!(tx.send(7), Ok(()));
        assert_eq!(receives.join().unwrap(), Ok(7));
        // Two waits at once.
        let (tx, rx) = oneshot::channel::<u32>();
        let mut task = Task::waits(tx.closed_async());
        scope(|s| {
            let waits = s.go(|| tx.closed());
            drop(rx);
            waits.join().unwrap();
        });
        assert_eq!((task.times_woken(), task.poll()), (1, Some(())));
    });
}

pub fn a_close_and_a_send_at_once() {
    in_any_order(|| {
        let (tx, rx) = oneshot::channel();
        let sends = go(move || tx.send(7));
        rx.close();
        let received = rx.recv();
        // Either both succeed, or neither does.
        match sends.join().unwrap() {
            Ok(()) => assert_eq!(received, Ok(7)),
            Err(value) => assert_eq!((value, received), (7, Err(RecvError))),
        }
    });
}

fn a_future_that_is_dropped() {
    run(|| {
        // Before the value has come, and after.
        for comes in [false, true] {
            let (tx, rx) = oneshot::channel();
            let task = Task::waits(rx.recv_async());
            let tx = if comes { tx.send(7).map(|()| None).unwrap() } else { Some(tx) };
            drop(task);
            tx.into_iter().for_each(|tx| tx.send(7).unwrap());
            assert_eq!(rx.recv(), Ok(7));
        }
        let value = Arc::new(());
        let (tx, rx) = oneshot::channel();
        let task = Task::waits(rx.into_future());
        tx.send(value.clone()).unwrap();
        drop(task);
        assert_eq!(Arc::strong_count(&value), 1);
        let (tx, rx) = oneshot::channel::<u32>();
        drop(Task::waits(rx.into_future()));
        assert!(tx.is_closed());
    });
}

pub fn an_arm_of_a_select() {
    in_any_order(|| {
        let (tx, rx) = oneshot::channel();
        let (other_tx, other) = bounded(0);
        let sends = go(move || {
            tx.send(1).unwrap();
            other_tx.send(2).unwrap();
        });
        // With `None`, an arm takes no part.
        let (mut rx, mut other) = (Some(rx), Some(other));
        while rx.is_some() || other.is_some() {
            select! {
                recv(rx) -> value => {
                    assert_eq!(value, Ok(1));
                    rx = None;
                }
                recv(other) -> value => {
                    assert_eq!(value, Ok(2));
                    other = None;
                }
            }
        }
        sends.join().unwrap();
        let (tx, rx) = oneshot::channel::<u32>();
        let borrowed = Some(&rx);
        drop(tx);
        select! { recv(borrowed) -> value => assert!(value.is_err()) }
    });
}

fn the_value_is_dropped_once() {
    let value = Arc::new(());
    let channel = || {
        let (tx, rx) = oneshot::channel();
        tx.send(value.clone()).unwrap();
        assert_eq!(Arc::strong_count(&value), 2);
        rx
    };
    drop(channel());
    assert_eq!(Arc::strong_count(&value), 1);
    assert!(channel().recv().is_ok());
    assert_eq!(Arc::strong_count(&value), 1);
    let rx = channel();
    rx.close();
    drop(rx);
    assert_eq!(Arc::strong_count(&value), 1);
}
