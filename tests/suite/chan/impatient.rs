//! Many waits with a limit, about half of which time out: nothing is lost, and nothing comes twice.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use gosched::chan::{RecvTimeoutError, bounded};
use gosched::sync::{Condvar, Mutex, Semaphore, WaitGroup};
use gosched::{scope, select, yield_now};

use crate::harness::explored::{each, explores, in_any_order, times};
use crate::harness::rng::Rng;
use crate::harness::storm::turns;
use crate::harness::tests;

tests! {
    no_value_is_lost_or_doubled
    no_permit_is_lost_or_doubled
    no_notification_is_lost
}

/// Returns how often each goroutine does its work.
fn many() -> usize {
    times(if cfg!(debug_assertions) { 2_000 } else { 20_000 }, 4)
}

/// A wait that is as likely as not to be over when its event comes.
fn short(rng: &mut Rng) -> Duration {
    Duration::from_nanos(rng.below(20_000) as u64)
}

pub fn no_value_is_lost_or_doubled() {
    in_any_order(|| {
        let mut rng = Rng::seeded();
        for room in each([0, 1, 5]) {
            let ((tx, rx), (tx2, rx2)) = (bounded::<u64>(room), bounded::<u64>(room));
            let [sent, received] = [(); 2].map(|()| AtomicU64::new(0));
            let [sent_count, received_count] = [(); 2].map(|()| AtomicUsize::new(0));
            let senders = WaitGroup::new();
            scope(|s| {
                let senders = &senders;
                for _ in 0..3 {
                    let (mut rng, sent, sent_count) = (rng.fork(), &sent, &sent_count);
                    let (tx, tx2) = (tx.clone(), tx2.clone());
                    senders.add(1);
                    s.go(move || {
                        for _ in turns(many(), || sent_count.load(Ordering::Relaxed) > 0) {
                            let value = rng.next() >> 32;
                            let done = if rng.below(3) == 0 {
                                select! {
                                    send(tx, value) -> done => done.is_ok(),
                                    send(tx2, value) -> done => done.is_ok(),
                                    default(short(&mut rng)) => false,
                                }
                            } else {
                                match tx.send_timeout(value, short(&mut rng)) {
                                    Ok(()) => true,
                                    Err(error) => {
                                        assert_eq!(error.into_inner(), value);
                                        false
                                    }
                                }
                            };
                            if done {
                                sent.fetch_add(value, Ordering::Relaxed);
                                sent_count.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                        senders.done();
                    });
                }
                for _ in 0..3 {
                    let (mut rng, received, received_count) = (rng.fork(), &received, &received_count);
                    let (rx, rx2) = (rx.clone(), rx2.clone());
                    s.go(move || {
                        let mut open = true;
                        while open {
                            let value = if rng.below(3) == 0 {
                                select! {
                                    recv(rx) -> value => value.map_err(|_| RecvTimeoutError::Disconnected),
                                    recv(rx2) -> value => value.map_err(|_| RecvTimeoutError::Timeout),
                                    default(short(&mut rng)) => Err(RecvTimeoutError::Timeout),
                                }
                            } else {
                                rx.recv_timeout(short(&mut rng))
                            };
                            match value {
                                Ok(value) => {
                                    received.fetch_add(value, Ordering::Relaxed);
                                    received_count.fetch_add(1, Ordering::Relaxed);
                                }
                                Err(RecvTimeoutError::Timeout) => {}
                                Err(RecvTimeoutError::Disconnected) => open = false,
                            }
                        }
                        for value in rx2 {
                            received.fetch_add(value, Ordering::Relaxed);
                            received_count.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
                drop((tx, tx2));
                senders.wait();
            });
            assert_eq!(received.into_inner(), sent.into_inner());
            let (received, sent) = (received_count.into_inner(), sent_count.into_inner());
            assert_eq!(received, sent);
            assert!(explores() || sent > 0, "nothing was sent");
        }
    });
}

pub fn no_permit_is_lost_or_doubled() {
    in_any_order(|| {
        let (mut rng, semaphore) = (Rng::seeded(), Semaphore::new(3));
        let (inside, granted) = (AtomicUsize::new(0), AtomicUsize::new(0));
        scope(|s| {
            for _ in 0..6 {
                let (mut rng, semaphore, inside, granted) = (rng.fork(), &semaphore, &inside, &granted);
                s.go(move || {
                    for _ in turns(many() / 4, || granted.load(Ordering::Relaxed) > 0) {
                        let n = 1 + rng.below(3);
                        let Some(_permits) = semaphore.acquire_many_timeout(n, short(&mut rng)) else {
                            continue;
                        };
                        granted.fetch_add(1, Ordering::Relaxed);
                        assert!(inside.fetch_add(n, Ordering::SeqCst) + n <= 3);
                        yield_now();
                        inside.fetch_sub(n, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(semaphore.available_permits(), 3);
        assert!(explores() || granted.into_inner() > 0);
    });
}

/// Items are produced with one notification each. All of their consumers but one are impatient.
pub fn no_notification_is_lost() {
    in_any_order(|| {
        let (mut rng, turns) = (Rng::seeded(), many());
        let (items, condvar, taken) = (Mutex::new(0_usize), Condvar::new(), AtomicUsize::new(0));
        scope(|s| {
            let mut consumers = Vec::new();
            for i in 0..4 {
                let (mut rng, items, condvar, taken) = (rng.fork(), &items, &condvar, &taken);
                consumers.push(s.go(move || {
                    while taken.load(Ordering::SeqCst) < turns {
                        let mut guard = items.lock();
                        if i == 0 {
                            let all = || taken.load(Ordering::SeqCst) == turns;
                            guard = condvar.wait_while(guard, |items| *items == 0 && !all());
                        } else if *guard == 0 {
                            guard = condvar.wait_timeout(guard, short(&mut rng)).0;
                        }
                        // The impatient consumers leave most items to the patient one.
                        if *guard > 0 && (i == 0 || rng.below(4) == 0) {
                            *guard -= 1;
                            taken.fetch_add(1, Ordering::SeqCst);
                        } else if *guard > 0 {
                            condvar.notify_one(); // for another consumer
                        }
                    }
                    // Wakes those that wait for the last item.
                    drop(items.lock());
                    condvar.notify_all();
                }));
            }
            for _ in 0..turns {
                *items.lock() += 1;
                condvar.notify_one();
                if rng.below(4) == 0 {
                    yield_now();
                }
            }
        });
        assert_eq!((items.into_inner(), taken.into_inner()), (0, turns));
    });
}
