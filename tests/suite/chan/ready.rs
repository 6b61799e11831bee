//! `Select::ready` and its like: goroutines that wait until an operation can be done, and leave it
//! to others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use gosched::chan::{Receiver, Select, Sender, TryRecvError, TrySendError, bounded, never, unbounded};
use gosched::context::{Context, ContextError};
use gosched::time::{after, now, sleep, tick, timeout};
use gosched::{JoinHandle, go, run, scope, select, yield_now};

use crate::harness::explored::{each, in_any_order, times};
use crate::harness::futures::Task;
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::tests;

tests! {
    an_operation_that_is_ready_is_found
    nothing_is_ready
    a_closed_channel_is_ready
    any_of_several
    the_first_of_several_in_order
    a_send_without_a_value
    a_wait_ends_when_a_sender_waits
    a_wait_ends_when_a_receiver_waits
    a_wait_ends_when_a_value_comes
    a_wait_ends_when_there_is_room
    a_wait_ends_with_the_channel
    a_wait_ends_by_a_future
    a_wait_ends_by_a_value_that_goes_back
    a_wait_ends_by_a_timer
    all_that_look_are_woken
    a_value_that_is_gone_ends_no_wait
    two_that_look_dont_meet
    a_wait_with_a_limit
    a_wait_ends_with_its_run
    threads_wait
    a_sender_waits_for_the_close
    each_value_is_found
    each_value_goes_from_one_that_looks_to_one_that_looks
}

pub fn an_operation_that_is_ready_is_found() {
    in_any_order(|| {
        let (tx, rx) = bounded(1);
        let (_other, idle) = bounded::<u8>(1);
        let (free, _keep) = bounded(1);
        let mut set = Select::new();
        set.recv(&idle);
        let receives = set.recv(&rx);
        assert_eq!(set.try_ready(), None);
        tx.send(7).unwrap();
        for _ in 0..3 {
            assert_eq!(set.ready(), receives, "again and again");
        }
        assert_eq!(rx.try_recv(), Ok(7), "it hasn't received it");
        assert_eq!(set.try_ready(), None);
        let sends = set.send(&free, "a value");
        assert_eq!(set.ready(), sends);
        assert!(free.is_empty(), "it hasn't sent it");
        assert_eq!(set.select().send(&free), Ok(()));
        assert_eq!(set.try_ready(), None, "the send is done");

        let (tx, rx) = unbounded();
        let mut set = Select::new();
        let sends = set.ready_to_send(&tx);
        assert_eq!(set.ready(), sends);
        let receives = set.recv(&rx);
        set.remove(sends);
        assert_eq!(set.try_ready(), None);
        tx.send(()).unwrap();
        assert_eq!(set.ready(), receives);
    });
}

fn nothing_is_ready() {
    run(|| {
        assert_eq!(Select::new().try_ready(), None);
        assert_eq!(Select::new().ready_timeout(Duration::from_millis(1)), None);
        let none: Option<&Receiver<u8>> = None;
        let nobody = never::<u8>();
        let (tx, rx) = bounded::<u8>(0);
        let mut set = Select::new();
        set.recv(none);
        set.recv(&nobody);
        set.ready_to_send(&tx);
        set.recv(&rx);
        assert_eq!(set.try_ready(), None, "a set is no counterpart of itself");
        assert_eq!(set.ready_timeout(Duration::from_millis(1)), None);
    });
}

fn a_closed_channel_is_ready() {
    run(|| {
        for cap in [0, 1] {
            let (tx, rx) = bounded(cap);
            tx.close();
            let mut set = Select::new();
            set.recv(&rx);
            assert_eq!(set.try_ready(), Some(0));
            assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
            let mut set = Select::new();
            set.ready_to_send(&tx);
            assert_eq!(set.ready(), 0);
            assert_eq!(tx.try_send(7), Err(TrySendError::Disconnected(7)));
        }
    });
}

fn any_of_several() {
    run(|| {
        let (tx, rx) = unbounded();
        tx.send(()).unwrap();
        let mut set = Select::new();
        (0..2).for_each(|_| _ = set.recv(&rx));
        (0..2).for_each(|_| _ = set.ready_to_send(&tx));
        let mut seen = [false; 4];
        while seen != [true; 4] {
            seen[set.ready()] = true;
        }
    });
}

fn the_first_of_several_in_order() {
    run(|| {
        let (tx, rx) = bounded(2);
        tx.send(()).unwrap();
        let (full, _keep) = bounded::<u8>(0);
        let mut set = Select::new_biased();
        set.ready_to_send(&full);
        let first = set.recv(&rx);
        set.ready_to_send(&tx);
        for _ in 0..100 {
            assert_eq!(set.ready(), first);
        }
    });
}

fn a_send_without_a_value() {
    run(|| {
        let (tx, rx) = bounded(1);
        let mut set = Select::new();
        let sends = set.ready_to_send(&tx);
        assert_eq!(set.ready(), sends);
        assert!(set.try_select().is_none(), "it has nothing to send");
        let receives = set.recv(&rx);
        tx.send(7).unwrap();
        assert_eq!(set.ready(), receives);
        assert_eq!(set.select().recv(&rx), Ok(7));
    });
}

/// Runs a goroutine that waits until it could receive. Returns when it waits.
fn one_that_wants<T: Send + 'static>(rx: &Receiver<T>) -> JoinHandle<usize> {
    let rx = rx.clone();
    go_until_it_waits(move || {
        let (_tx, idle) = bounded::<u8>(0);
        let mut set = Select::new();
        set.recv(&idle);
        set.recv(&rx);
        set.ready()
    })
}

/// Runs a goroutine that waits until it could send. Returns when it waits.
fn one_that_has<T: Send + 'static>(tx: &Sender<T>) -> JoinHandle<usize> {
    let tx = tx.clone();
    go_until_it_waits(move || {
        let (full, _rx) = bounded::<u8>(0);
        let mut set = Select::new();
        set.ready_to_send(&full);
        set.ready_to_send(&tx);
        set.ready()
    })
}

pub fn a_wait_ends_when_a_sender_waits() {
    in_any_order(|| {
        let (tx, rx) = bounded(0);
        let looks = one_that_wants(&rx);
        let sender = go({
            let tx = tx.clone();
            move || tx.send(1)
        });
        assert_eq!(looks.join().unwrap(), 1);
        assert_eq!(rx.try_recv(), Ok(1), "it still waits");
        sender.join().unwrap().unwrap();

        let looks = one_that_wants(&rx);
        let sender = go(move || {
            let (_keep, idle) = bounded::<u8>(0);
            select! {
                send(tx, 2) -> sent => sent.unwrap(),
                recv(idle) -> _ => unreachable!(),
            }
        });
        assert_eq!(looks.join().unwrap(), 1);
        assert_eq!(rx.try_recv(), Ok(2));
        sender.join().unwrap();
    });
}

pub fn a_wait_ends_when_a_receiver_waits() {
    in_any_order(|| {
        let (tx, rx) = bounded(0);
        let looks = one_that_has(&tx);
        let receiver = go({
            let rx = rx.clone();
            move || rx.recv()
        });
        assert_eq!(looks.join().unwrap(), 1);
        tx.try_send(1).unwrap();
        assert_eq!(receiver.join().unwrap(), Ok(1));

        let looks = one_that_has(&tx);
        let receiver = go(move || {
            let (full, _keep) = bounded::<u8>(0);
            select! {
                recv(rx) -> value => value,
                send(full, 7) -> _ => unreachable!(),
            }
        });
        assert_eq!(looks.join().unwrap(), 1);
        tx.try_send(2).unwrap();
        assert_eq!(receiver.join().unwrap(), Ok(2));
    });
}

pub fn a_wait_ends_when_a_value_comes() {
    in_any_order(|| {
        for by_select in each([false, true]) {
            for (tx, rx) in [bounded(1), unbounded()] {
                let looks = one_that_wants(&rx);
                if by_select && rx.capacity().is_some() {
                    select! { send(tx, 7) -> sent => sent.unwrap() }
                } else {
                    tx.send(7).unwrap();
                }
                assert_eq!(looks.join().unwrap(), 1);
                assert_eq!(rx.try_recv(), Ok(7));
            }
        }
    });
}

pub fn a_wait_ends_when_there_is_room() {
    in_any_order(|| {
        for by_select in each([false, true]) {
            let (tx, rx) = bounded(2);
            (1..3).for_each(|i| tx.send(i).unwrap());
            let looks = one_that_has(&tx);
            let value = if by_select {
                select! { recv(rx) -> value => value }
            } else {
                rx.recv()
            };
            assert_eq!(value, Ok(1));
            assert_eq!(looks.join().unwrap(), 1);
            tx.try_send(3).unwrap();
        }
    });
}

pub fn a_wait_ends_with_the_channel() {
    in_any_order(|| {
        for closes in each([true, false]) {
            let (tx, rx) = bounded(1);
            tx.send(()).unwrap();
            let (both, other) = (one_that_has(&tx), one_that_has(&tx));
            if closes {
                tx.close()
            } else {
                drop(rx)
            }
            assert_eq!((both.join().unwrap(), other.join().unwrap()), (1, 1));

            let (tx, rx) = bounded::<u8>(0);
            let looks = one_that_wants(&rx);
            if closes {
                tx.close()
            } else {
                drop(tx)
            }
            assert_eq!(looks.join().unwrap(), 1);
        }
    });
}

pub fn a_wait_ends_by_a_future() {
    in_any_order(|| {
        let (tx, rx) = bounded(0);
        let looks = one_that_wants(&rx);
        let mut sends = Task::waits(tx.send_async(1));
        assert_eq!(looks.join().unwrap(), 1);
        assert_eq!(rx.try_recv(), Ok(1));
        assert_eq!(sends.poll(), Some(Ok(())));

        let looks = one_that_has(&tx);
        let mut receives = Task::waits(rx.recv_async());
        assert_eq!(looks.join().unwrap(), 1);
        tx.try_send(2).unwrap();
        assert_eq!(receives.poll(), Some(Ok(2)));
    });
}

pub fn a_wait_ends_by_a_value_that_goes_back() {
    in_any_order(|| {
        for cap in each([0, 1]) {
            let (tx, rx) = bounded(cap);
            let receives = Task::waits(rx.recv_async());
            tx.try_send(1).unwrap();
            // The value is the future's, and the future doesn't want it.
            let looks = one_that_wants(&rx);
            drop(receives);
            assert_eq!(looks.join().unwrap(), 1);
            assert_eq!(rx.try_recv(), Ok(1));
        }
    });
}

pub fn a_wait_ends_by_a_timer() {
    in_any_order(|| {
        let begun = now();
        let late = after(Duration::from_millis(20));
        let mut set = Select::new();
        set.recv(&late);
        assert_eq!(set.ready(), 0);
        assert!(now() - begun >= Duration::from_millis(20));
        late.try_recv().unwrap();

        let ticks = tick(Duration::from_millis(1));
        let mut set = Select::new();
        set.recv(&ticks);
        for _ in 0..3 {
            assert_eq!(set.ready(), 0);
            ticks.try_recv().unwrap();
        }
    });
}

pub fn all_that_look_are_woken() {
    in_any_order(|| {
        let (tx, rx) = bounded(1);
        let look: Vec<_> = (0..4).map(|_| one_that_wants(&rx)).collect();
        tx.send(()).unwrap();
        // Nobody takes the value, so each has to find it.
        look.into_iter().for_each(|looks| assert_eq!(looks.join().unwrap(), 1));
        let look: Vec<_> = (0..4).map(|_| one_that_has(&tx)).collect();
        rx.recv().unwrap();
        look.into_iter().for_each(|looks| assert_eq!(looks.join().unwrap(), 1));
    });
}

/// A value that another goroutine has received meanwhile ends no wait; the next value does.
pub fn a_value_that_is_gone_ends_no_wait() {
    in_any_order(|| {
        let (tx, rx) = bounded(1);
        let found = Arc::new(AtomicU32::new(0));
        let looks = go({
            let (rx, found) = (rx.clone(), found.clone());
            move || {
                loop {
                    let mut set = Select::new();
                    set.recv(&rx);
                    assert_eq!(set.ready(), 0);
                    match rx.try_recv() {
                        Ok(value) => found.fetch_add(value, Ordering::Relaxed),
                        Err(TryRecvError::Empty) => continue,
                        Err(TryRecvError::Disconnected) => return,
                    };
                }
            }
        });
        let takes = go({
            let found = found.clone();
            move || rx.iter().for_each(|value| _ = found.fetch_add(value, Ordering::Relaxed))
        });
        for i in 1..=4 {
            tx.send(i).unwrap();
            yield_now();
        }
        drop(tx);
        looks.join().unwrap();
        takes.join().unwrap();
        assert_eq!(found.load(Ordering::Relaxed), 10);
    });
}

pub fn two_that_look_dont_meet() {
    in_any_order(|| {
        let (tx, rx) = bounded(0);
        let (wants, has) = (one_that_wants(&rx), one_that_has(&tx));
        sleep(Duration::from_millis(1));
        assert!(!wants.is_finished() && !has.is_finished());
        let sender = go(move || tx.send(1));
        assert_eq!(wants.join().unwrap(), 1);
        assert!(!has.is_finished());
        assert_eq!(rx.recv(), Ok(1));
        let receiver = go(move || rx.recv());
        assert_eq!(has.join().unwrap(), 1);
        sender.join().unwrap().unwrap();
        assert!(receiver.join().unwrap().is_err());
    });
}

pub fn a_wait_with_a_limit() {
    in_any_order(|| {
        let (tx, rx) = bounded(0);
        let mut set = Select::new();
        set.recv(&rx);
        let begun = now();
        assert_eq!(set.ready_timeout(Duration::from_millis(10)), None);
        assert_eq!(set.ready_deadline(begun + Duration::from_millis(20)), None);
        assert!(now() - begun >= Duration::from_millis(20));
        assert_eq!(set.ready_timeout(Duration::ZERO), None);
        let sender = go(move || {
            sleep(Duration::from_millis(10));
            tx.send(7)
        });
        assert_eq!(set.ready_timeout(Duration::from_secs(1_000_000)), Some(0));
        assert_eq!(rx.try_recv(), Ok(7));
        sender.join().unwrap().unwrap();
    });
}

pub fn a_wait_ends_with_its_run() {
    in_any_order(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let (tx, rx) = bounded::<u8>(0);
        let waits = go({
            let (tx, rx) = (tx.clone(), rx.clone());
            move || {
                ctx.run(|| {
                    let mut set = Select::new();
                    set.recv(&rx);
                    set.ready_to_send(&tx);
                    set.ready()
                })
            }
        });
        sleep(Duration::from_millis(1));
        cancel.cancel();
        assert_eq!(waits.join().unwrap(), Err(ContextError::Canceled));
        // It has left both queues.
        assert!(rx.try_recv().is_err() && tx.try_send(1).is_err());

        let ended = timeout(Duration::from_millis(1), || {
            let mut set = Select::new_biased();
            set.recv(&rx);
            set.ready_timeout(Duration::from_secs(1_000_000))
        });
        assert!(ended.is_err());
        let in_time = timeout(Duration::from_secs(1_000_000), || {
            scope(|s| {
                s.go(|| tx.send(7));
                let mut set = Select::new_biased();
                set.recv(&rx);
                assert_eq!(set.ready(), 0);
                rx.try_recv()
            })
        });
        assert_eq!(in_time.unwrap(), Ok(7));
    });
}

fn threads_wait() {
    run(|| {
        let (tx, rx) = bounded(0);
        let thread = std::thread::spawn(move || {
            let mut set = Select::new();
            set.recv(&rx);
            assert_eq!(set.ready(), 0);
            rx.recv()
        });
        tx.send(7).unwrap();
        assert_eq!(thread.join().unwrap(), Ok(7));
    });
}

pub fn a_sender_waits_for_the_close() {
    in_any_order(|| {
        for closes in each([true, false]) {
            for cap in each([0, 1]) {
                let (tx, rx) = bounded(cap);
                let others: Vec<_> = (0..2)
                    .map(|_| {
                        let tx = tx.clone();
                        go_until_it_waits(move || tx.closed())
                    })
                    .collect();
                // Values come and go meanwhile.
                let sender = go({
                    let tx = tx.clone();
                    move || (0..3).for_each(|i| tx.send(i).unwrap())
                });
                assert_eq!([(); 3].map(|()| rx.recv().unwrap()), [0, 1, 2]);
                sender.join().unwrap();
                assert!(others.iter().all(|other| !other.is_finished()));
                assert_eq!(rx.sender_count(), 3);
                if closes {
                    tx.close()
                } else {
                    drop(rx)
                }
                others.into_iter().for_each(|other| other.join().unwrap());
                tx.closed();
                assert!(tx.send(7).is_err());
                assert_eq!(tx.sender_count(), 1);
            }
        }
        let (tx, _rx) = bounded::<u8>(1);
        assert!(timeout(Duration::from_millis(1), || tx.closed()).is_err());
    });
}

/// One goroutine looks at channels of all kinds, to which others send.
pub fn each_value_is_found() {
    in_any_order(|| {
        let count = times(10_000, 3);
        let (one, of_one) = bounded(0);
        let (two, of_two) = bounded(5);
        let (three, of_three) = unbounded();
        for tx in [one, two, three] {
            go(move || (0..count).for_each(|i| tx.send(i).unwrap()));
        }
        let receivers = [of_one, of_two, of_three];
        let mut next = [0; 3];
        let mut set = Select::new();
        receivers.iter().for_each(|rx| _ = set.recv(rx));
        while next != [count; 3] {
            let i = set.ready();
            match receivers[i].try_recv() {
                Ok(value) => {
                    assert_eq!(value, next[i]);
                    next[i] += 1;
                }
                Err(TryRecvError::Disconnected) => {
                    assert_eq!(next[i], count);
                    set.remove(i);
                }
                Err(TryRecvError::Empty) => unreachable!("nobody else receives"),
            }
        }
    });
}

/// Both sides of a channel look first, and several goroutines on each side.
pub fn each_value_goes_from_one_that_looks_to_one_that_looks() {
    in_any_order(|| {
        let (count, n) = (times(2_000, 2) as u64, times(4, 2) as u64);
        let (tx, rx) = bounded(1);
        let senders: Vec<_> = (0..n)
            .map(|_| {
                let tx = tx.clone();
                go(move || {
                    for i in 1..=count {
                        let mut set = Select::new();
                        set.ready_to_send(&tx);
                        while tx.try_send(i).is_err() {
                            assert_eq!(set.ready(), 0);
                        }
                    }
                })
            })
            .collect();
        drop(tx);
        let receivers: Vec<_> = (0..n)
            .map(|_| {
                let rx = rx.clone();
                go(move || {
                    let mut set = Select::new();
                    set.recv(&rx);
                    let mut sum = 0;
                    loop {
                        assert_eq!(set.ready(), 0);
                        match rx.try_recv() {
                            Ok(value) => sum += value,
                            Err(TryRecvError::Empty) => {}
                            Err(TryRecvError::Disconnected) => return sum,
                        }
                    }
                })
            })
            .collect();
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        let sum: u64 = receivers.into_iter().map(|receiver| receiver.join().unwrap()).sum();
        assert_eq!(sum, n * count * (count + 1) / 2);
    });
}
