//! Waits with a timeout: either the event has happened, or nothing has.

use std::time::Duration;

use gosched::chan::{RecvTimeoutError, Select, SendTimeoutError, bounded, never};
use gosched::sync::{Condvar, Mutex, Semaphore};
use gosched::{go, scope, select, time, yield_now};

use crate::harness::explored::{in_any_order, times};
use crate::harness::tests;

tests! {
    a_receive
    a_send
    a_select
    a_select_of_a_set
    a_condition
    a_notification_finds_who_still_waits
    a_permit
}

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Fails unless `wait`, which must time out after `d`, takes at least that long.
#[track_caller]
fn takes<R>(d: Duration, wait: impl FnOnce() -> R) -> R {
    let start = time::now();
    let result = wait();
    assert!(time::now() - start >= d);
    result
}

pub fn a_receive() {
    in_any_order(|| {
        let (tx, rx) = bounded(1);
        assert_eq!(takes(2 * MS, || rx.recv_timeout(2 * MS)), Err(RecvTimeoutError::Timeout));
        let deadline = time::now() + MS;
        assert_eq!(rx.recv_deadline(deadline), Err(RecvTimeoutError::Timeout));
        assert!(time::now() >= deadline);
        assert_eq!(rx.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
        assert_eq!(rx.recv_deadline(deadline), Err(RecvTimeoutError::Timeout));
        tx.send(1).unwrap();
        assert_eq!(rx.recv_timeout(Duration::ZERO), Ok(1));
        tx.send(2).unwrap();
        assert_eq!(rx.recv_deadline(deadline), Ok(2));

        let late = go({
            let tx = tx.clone();
            move || {
                time::sleep(MS);
                tx.send(3).unwrap();
            }
        });
        assert_eq!(rx.recv_timeout(HOUR), Ok(3));
        late.join().unwrap();
        go(move || {
            time::sleep(MS);
            drop(tx);
        });
        assert_eq!(rx.recv_timeout(Duration::MAX), Err(RecvTimeoutError::Disconnected));
        assert_eq!(rx.recv_timeout(MS), Err(RecvTimeoutError::Disconnected));
        assert_eq!(takes(MS, || never::<()>().recv_timeout(MS)), Err(RecvTimeoutError::Timeout));
    });
}

pub fn a_send() {
    in_any_order(|| {
        let (tx, rx) = bounded(1);
        assert_eq!(tx.send_timeout("a".to_owned(), Duration::ZERO), Ok(()));
        let full = |s: &str| Err(SendTimeoutError::Timeout(s.to_owned()));
        assert_eq!(takes(2 * MS, || tx.send_timeout("b".to_owned(), 2 * MS)), full("b"));
        assert_eq!(tx.send_timeout("c".to_owned(), Duration::ZERO), full("c"));
        assert_eq!(tx.send_deadline("d".to_owned(), time::now()), full("d"));
        let late = go(move || {
            time::sleep(MS);
            let received = [rx.recv(), rx.recv()];
            time::sleep(MS);
            (rx, received)
        });
        assert_eq!(tx.send_deadline("e".to_owned(), time::now() + HOUR), Ok(()));
        assert_eq!(tx.send_timeout("f".to_owned(), HOUR), Ok(()));
        let (rx, received) = late.join().unwrap();
        assert_eq!(received, [Ok("a".to_owned()), Ok("e".to_owned())]);
        go(move || {
            time::sleep(MS);
            drop(rx);
        });
        let error = tx.send_timeout("g".to_owned(), HOUR).unwrap_err();
        assert!(error.is_disconnected() && !error.is_timeout());
        assert_eq!(error.to_string(), "sending on a closed channel");
        assert_eq!(error.into_inner(), "g");
        let (tx, _rx) = bounded(0);
        let error = tx.send_timeout(7, Duration::ZERO).unwrap_err();
        assert!(error.is_timeout() && !error.is_disconnected());
        assert_eq!(format!("{error} {error:?}"), "timed out waiting on send operation Timeout(..)");
    });
}

pub fn a_select() {
    in_any_order(|| {
        let (tx, rx) = bounded(1);
        let (full, _kept) = bounded(0);
        let timeout = |d| {
            select! {
                recv(rx) -> value => value.unwrap(),
                send(full, 7) -> _ => unreachable!("nobody receives"),
                default(d) => 0,
            }
        };
        assert_eq!(takes(2 * MS, || timeout(2 * MS)), 0);
        assert_eq!(timeout(Duration::ZERO), 0);
        for d in [Duration::ZERO, HOUR] {
            tx.send(3).unwrap();
            assert_eq!(timeout(d), 3, "what can be done comes before a timeout");
        }
        let tx2 = tx.clone();
        go(move || {
            time::sleep(MS);
            tx2.send(5).unwrap();
        });
        assert_eq!(timeout(HOUR), 5);

        // An arm that isn't chosen drops its value.
        let dropped = std::sync::Arc::new(());
        let (tx_arc, rx_arc) = bounded(0);
        select! {
            send(tx_arc, dropped.clone()) -> _ => unreachable!("nobody receives"),
            default(MS) => {}
        }
        assert_eq!(std::sync::Arc::strong_count(&dropped), 1);
        drop(rx_arc);
        // Arms with blocks and loops, and no arm that receives or sends.
        let mut turns = 0;
        loop {
            select! {
                recv(rx) -> _ => unreachable!("nothing was sent"),
                default(Duration::from_micros(10)) => {
                    turns += 1;
                    if turns == 3 {
                        break;
                    }
                }
            }
        }
        takes(MS, || select! { default(MS) => {} });
    });
}

pub fn a_select_of_a_set() {
    in_any_order(|| {
        let (tx, rx) = bounded(1);
        let (full, _kept) = bounded(0);
        let mut set = Select::new();
        let recv = set.recv(&rx);
        set.send(&full, 7);
        assert!(takes(2 * MS, || set.select_timeout(2 * MS).is_none()));
        assert!(set.select_timeout(Duration::ZERO).is_none());
        assert!(set.select_deadline(time::now()).is_none());
        tx.send(3).unwrap();
        let selected = set.select_timeout(Duration::ZERO).unwrap();
        assert_eq!((selected.index(), selected.recv(&rx)), (recv, Ok(3)));
        go(move || {
            time::sleep(MS);
            tx.send(5).unwrap();
        });
        let selected = set.select_deadline(time::now() + HOUR).unwrap();
        assert_eq!((selected.index(), selected.recv(&rx)), (recv, Ok(5)));
        assert!(takes(MS, || Select::new().select_timeout(MS).is_none()));
    });
}

pub fn a_condition() {
    in_any_order(|| {
        let (mutex, condvar) = (Mutex::new(0), Condvar::new());
        let (guard, result) = takes(2 * MS, || condvar.wait_timeout(mutex.lock(), 2 * MS));
        assert!(result.timed_out() && mutex.try_lock().is_none());
        drop(guard);
        scope(|s| {
            s.go(|| {
                time::sleep(MS);
                *mutex.lock() += 1;
                condvar.notify_one();
            });
            let (guard, result) = condvar.wait_timeout_while(mutex.lock(), HOUR, |value| *value == 0);
            assert!(!result.timed_out() && *guard == 1);
        });
        let (guard, result) =
            takes(2 * MS, || condvar.wait_timeout_while(mutex.lock(), 2 * MS, |value| *value == 1));
        assert!(result.timed_out() && *guard == 1);
        let (_, result) = condvar.wait_timeout_while(guard, Duration::ZERO, |value| *value == 0);
        assert!(!result.timed_out());
    });
}

/// A goroutine that leaves takes no notification with it: the notification goes to one that still
/// waits.
pub fn a_notification_finds_who_still_waits() {
    in_any_order(|| {
        for round in 0..times(20, 1) {
            // The numbers of goroutines that have come, were woken, and have left.
            let (mutex, condvar) = (Mutex::new((0, 0, 0)), Condvar::new());
            scope(|s| {
                // Notifies before, between and after the waits.
                for i in 0..12 {
                    let patient = i % 4 == round % 4;
                    let (mutex, condvar) = (&mutex, &condvar);
                    s.go(move || {
                        let mut guard = mutex.lock();
                        guard.0 += 1;
                        if patient {
                            condvar.wait(guard).1 += 1;
                        } else {
                            condvar.wait_timeout(guard, MS / 10).0.2 += 1;
                        }
                    });
                }
                let three_are_left = || {
                    let guard = mutex.lock();
                    guard.0 == 12 && guard.2 == 9
                };
                while !three_are_left() {
                    time::sleep(MS / 20);
                }
                // Each notification wakes at least one goroutine.
                for woken in 1..=3 {
                    condvar.notify_one();
                    while mutex.lock().1 < woken {
                        yield_now();
                    }
                }
            });
        }
    });
}

pub fn a_permit() {
    in_any_order(|| {
        let semaphore = Semaphore::new(2);
        let held = semaphore.acquire_timeout(HOUR).unwrap();
        assert!(takes(2 * MS, || semaphore.acquire_many_timeout(2, 2 * MS).is_none()));
        assert_eq!(semaphore.available_permits(), 1);
        scope(|s| {
            // A goroutine that wants many permits and gives up lets those behind it pass.
            let greedy = s.go(|| semaphore.acquire_many_timeout(2, 2 * MS).is_none());
            // It may have given up already: on a slow machine this test checks less.
            while !greedy.is_finished() && semaphore.try_acquire().is_some() {
                yield_now();
            }
            let modest = s.go(|| semaphore.acquire_timeout(HOUR).is_some());
            assert!(greedy.join().unwrap() && modest.join().unwrap());
            s.go(|| {
                time::sleep(MS);
                drop(held);
            });
            assert!(semaphore.acquire_many_timeout(2, HOUR).is_some());
        });
        assert_eq!(semaphore.available_permits(), 2);
    });
}
