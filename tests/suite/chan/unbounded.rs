//! Channels whose buffer grows: a send never waits, and everything else is as with other channels.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::chan::{RecvTimeoutError, Select, SendError, TryRecvError, TrySendError, bounded, unbounded};
use gosched::context::Context;
use gosched::explore::{Explorer, Strategy};
use gosched::{block_on, blocking, go, run, scope, select, yield_now};

use crate::harness::explored::{each, in_any_order, times};
use crate::harness::futures::Task;
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::memory::allow;
use crate::harness::storm::storm;
use crate::harness::tests;

tests! {
    a_send_never_waits
    values_of_each_kind_come_in_order
    the_ring_may_begin_anywhere_when_it_grows
    who_waits_gets_the_next_value
    each_kind_of_wait
    a_select_sends_as_often_as_it_likes
    a_select_makes_room_only_once
    a_value_that_came_goes_back_first
    a_close_leaves_the_values
    values_are_dropped_with_the_receiver
    an_empty_channel_keeps_no_large_buffer
    threads_and_goroutines
    senders_and_receivers_lose_nothing
}

const MS: Duration = Duration::from_millis(1);

fn a_send_never_waits() {
    // Before the runtime has started, a wait would panic.
    let (tx, rx) = unbounded();
    for i in 0..10_000 {
        assert_eq!((tx.len(), tx.is_full(), rx.is_full(), tx.is_empty()), (i, false, false, i == 0));
        if i % 2 == 0 {
            tx.send(i).unwrap();
        } else {
            assert_eq!(tx.try_send(i), Ok(()));
        }
    }
    assert_eq!((tx.capacity(), rx.capacity(), rx.len()), (None, None, 10_000));
    assert!(rx.try_iter().eq(0..10_000));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    run(|| {
        blocking(|| (0..1000).for_each(|i| tx.send(i).unwrap()));
        assert_eq!(tx.send_timeout(1000, Duration::ZERO), Ok(()));
        assert_eq!(block_on(tx.send_async(1001)), Ok(()));
        assert_eq!(Context::background().with(&tx).send(1002), Ok(()));
        drop(tx);
        assert!(rx.iter().eq(0..1003));
    });
}

fn values_of_each_kind_come_in_order() {
    fn come<T: PartialEq + std::fmt::Debug>(n: usize, value: impl Fn(usize) -> T) {
        let (tx, rx) = unbounded();
        for round in 0..3 {
            (0..n).for_each(|i| tx.send(value(round + i)).unwrap());
            (0..n).for_each(|i| assert_eq!(rx.try_recv().unwrap(), value(round + i)));
            assert!(rx.try_recv().is_err());
        }
        tx.send(value(7)).unwrap(); // dropped with the channel
    }

    #[derive(Debug, PartialEq)]
    #[repr(align(64))]
    struct Aligned(Box<usize>);

    come(10_000, |_| ());
    come(10_000, |i| i as u8);
    come(10_000, |i| i);
    come(1000, |i| [i; 3]);
    come(1000, |i| i.to_string());
    come(100, |i| Aligned(Box::new(i)));
    come(50, |i| [i as u16; 10_000]);
    come(10, |i| vec![[i as u8; 70_000]].remove(0));
}

fn the_ring_may_begin_anywhere_when_it_grows() {
    for taken in 0..40 {
        let (tx, rx) = unbounded();
        let (mut sent, mut received) = (0, 0);
        for turn in 0..200 {
            for _ in 0..3 + (turn + taken) % 5 {
                tx.send(sent).unwrap();
                sent += 1;
            }
            for _ in 0..((turn + taken) % 7).min(sent - received) {
                assert_eq!(rx.recv(), Ok(received));
                received += 1;
            }
            assert_eq!(rx.len(), sent - received);
        }
        drop(tx);
        assert!(rx.iter().eq(received..sent));
    }
}

pub fn who_waits_gets_the_next_value() {
    in_any_order(|| {
        let (tx, rx) = unbounded();
        let receivers: Vec<_> = (0..times(10, 3))
            .map(|_| {
                let rx = rx.clone();
                go_until_it_waits(move || rx.recv())
            })
            .collect();
        let mut task = Task::waits(rx.recv_async());
        (0..=receivers.len()).for_each(|i| tx.send(i).unwrap());
        assert_eq!(task.poll(), Some(Ok(receivers.len())));
        for (i, receiver) in receivers.into_iter().enumerate() {
            assert_eq!(receiver.join().unwrap(), Ok(i));
        }
        assert!(rx.is_empty());
    });
}

pub fn each_kind_of_wait() {
    in_any_order(|| {
        let (tx, rx) = unbounded();
        assert_eq!(rx.recv_timeout(MS), Err(RecvTimeoutError::Timeout));
        let (ctx, _cancel) = Context::background().with_timeout(MS);
        assert!(ctx.with(&rx).recv().is_err());
        let sender = go(move || {
            for i in 0..times(100, 8) {
                yield_now();
                tx.send(i).unwrap();
            }
        });
        let (never_tx, never) = bounded::<()>(0);
        for i in 0..times(100, 8) {
            let value = match i % 4 {
                0 => rx.recv().unwrap(),
                1 => rx.recv_timeout(Duration::from_secs(3600)).unwrap(),
                2 => block_on(rx.recv_async()).unwrap(),
                _ => select! {
                    recv(rx) -> value => value.unwrap(),
                    recv(never) -> _ => unreachable!(),
                },
            };
            assert_eq!(value, i);
        }
        sender.join().unwrap();
        drop(never_tx);
        assert!(rx.recv().is_err());
    });
}

pub fn a_select_sends_as_often_as_it_likes() {
    in_any_order(|| {
        let ((tx, rx), n) = (unbounded(), times(1000, 20));
        let (other, _never) = bounded(0);
        for i in 0..n {
            match i % 3 {
                0 => select! {
                    send(other, i) -> _ => unreachable!("nobody receives"),
                    send(tx, i) -> sent => sent.unwrap(),
                },
                1 => select! {
                    biased;
                    send(other, i) -> _ => unreachable!("nobody receives"),
                    send(tx, i) -> sent => sent.unwrap(),
                    default => unreachable!("there is room"),
                },
                _ => {
                    let mut set = Select::new();
                    set.send(&other, i);
                    set.send(&tx, i);
                    assert_eq!(set.select().send(&tx), Ok(()));
                }
            }
        }
        assert!(rx.try_iter().eq(0..n));
        drop(rx);
        select! { send(tx, n) -> sent => assert_eq!(sent, Err(SendError(n))) }
    });
}

fn a_select_makes_room_only_once() {
    /// The choices of the longest schedule in which a select sends, and another goroutine polls.
    fn choices(polls: usize) -> u64 {
        let all = Explorer::new().strategy(Strategy::Exhaustive { preemptions: 8 });
        let program = move || {
            // Values for which an empty channel has no room.
            let (tx, rx) = unbounded::<[u8; 5000]>();
            let sender = go(move || select! { send(tx, [7; 5000]) -> sent => sent.unwrap() });
            for _ in 0..polls {
                rx.try_recv().ok();
            }
            sender.join().unwrap();
        };
        (1..).find(|&most| all.clone().max_choices(most).check(program).is_ok()).unwrap()
    }
    // Each poll is a choice. A select that starts again, because a poll took its room away, makes
    // more of them.
    assert_eq!(choices(4), choices(2) + 2);
}

fn a_value_that_came_goes_back_first() {
    run(|| {
        // Whether the buffer has room when the value goes back, or must grow first.
        for n in 0..100 {
            let (tx, rx) = unbounded();
            let came = [Task::waits(rx.recv_async()), Task::waits(rx.recv_async())];
            (0..n + 2).for_each(|i| tx.send(i).unwrap());
            assert_eq!(rx.len(), n);
            came.into_iter().rev().for_each(drop);
            assert_eq!(rx.len(), n + 2);
            tx.send(n + 2).unwrap();
            drop(tx);
            assert!(rx.iter().eq(0..n + 3));
        }
    });
}

pub fn a_close_leaves_the_values() {
    in_any_order(|| {
        for n in each([0, 5, 50]) {
            let (tx, rx) = unbounded();
            (0..n).for_each(|i| tx.send(i).unwrap());
            let other = tx.clone();
            let closes = go(move || other.close());
            assert!(rx.iter().eq(0..n));
            closes.join().unwrap();
            assert_eq!(tx.send(n), Err(SendError(n)));
            assert_eq!(tx.try_send(n), Err(TrySendError::Disconnected(n)));
            assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
        }
    });
}

fn values_are_dropped_with_the_receiver() {
    let value = Arc::new(());
    for n in [0, 3, 1000] {
        let (tx, rx) = unbounded();
        (0..n).for_each(|_| tx.send(value.clone()).unwrap());
        assert_eq!(Arc::strong_count(&value), 1 + n);
        drop(rx);
        assert_eq!(Arc::strong_count(&value), 1);
        assert!(tx.send(value.clone()).is_err());
        // With the senders last, and with the receiver last.
        let (tx, rx) = unbounded();
        (0..n).for_each(|_| tx.send(value.clone()).unwrap());
        drop((tx, rx));
        assert_eq!(Arc::strong_count(&value), 1);
    }
}

fn an_empty_channel_keeps_no_large_buffer() {
    // A backlog has 16 MB, and all of them together much more than is allowed.
    const VALUES: usize = 8 << 10;
    let value = |i| [i; 256];
    run(|| {
        let (never_tx, never) = bounded::<()>(0);
        allow(120 << 20);
        let mut kept = Vec::new();
        for how in 0..16 {
            let (tx, rx) = unbounded();
            (0..VALUES).for_each(|i| tx.send(value(i)).unwrap());
            assert!(rx.try_iter().map(|value| value[255]).eq(0..VALUES));
            // Each kind of receive gives the buffer back.
            match how % 4 {
                0 => assert!(rx.try_recv().is_err()),
                1 => assert!(rx.recv_timeout(MS).is_err()),
                2 => drop(Task::waits(rx.recv_async())),
                _ => select! {
                    recv(rx) -> _ => unreachable!(),
                    recv(never) -> _ => unreachable!(),
                    default => {}
                },
            }
            kept.push((tx, rx));
        }
        drop(never_tx);
        assert!(kept.iter().all(|(tx, rx)| tx.send(value(1)).is_ok() && rx.recv() == Ok(value(1))));
    });
}

fn threads_and_goroutines() {
    const VALUES: usize = 20_000;
    run(|| {
        let (tx, rx) = unbounded();
        let threads: Vec<_> = (0..3)
            .map(|sender| {
                let tx = tx.clone();
                thread::spawn(move || (0..VALUES).for_each(|i| tx.send((sender, i)).unwrap()))
            })
            .collect();
        drop(tx);
        let mut next = [0; 3];
        for (sender, i) in &rx {
            assert_eq!(i, next[sender], "each sender's values come in order");
            next[sender] += 1;
        }
        assert_eq!(next, [VALUES; 3]);
        blocking(|| threads.into_iter().for_each(|thread| thread.join().unwrap()));
    });
}

pub fn senders_and_receivers_lose_nothing() {
    in_any_order(|| {
        for turn in storm(times(20, 1)) {
            let ((tx, rx), n) = (unbounded(), times(2000, 5));
            let [sum, count] = [(); 2].map(|()| AtomicUsize::new(0));
            scope(|s| {
                for sender in 0..3 {
                    let tx = tx.clone();
                    s.go(move || (0..n).for_each(|i| tx.send(sender * n + i).unwrap()));
                }
                drop(tx);
                for _ in 0..2 {
                    let (rx, sum, count) = (rx.clone(), &sum, &count);
                    s.go(move || {
                        for value in &rx {
                            sum.fetch_add(value, Ordering::Relaxed);
                            count.fetch_add(1, Ordering::Relaxed);
                            if (value + turn) % 7 == 0 {
                                yield_now();
                            }
                        }
                    });
                }
            });
            let all = 3 * n;
            assert_eq!((sum.into_inner(), count.into_inner()), (all * (all - 1) / 2, all));
        }
    });
}
