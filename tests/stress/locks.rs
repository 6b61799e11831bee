//! Locks, barriers and the like under contention.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::sync::{Barrier, Condvar, Mutex, Once, OnceLock, RwLock, Semaphore, WaitGroup};
use gosched::{go, scope, yield_now};

use super::ledger::{Ledger, Token};
use super::rng::Rng;
use super::tally::{Op, count};

pub fn counter(rng: &mut Rng) {
    let (goroutines, each) = (rng.up_to(8), rng.up_to(200));
    let counter = Mutex::new(0);
    scope(|s| {
        for _ in 0..goroutines {
            let (counter, mut rng) = (&counter, rng.fork());
            s.go(move || {
                for _ in 0..each {
                    let mut counter = match rng.below(3) {
                        0 => loop {
                            match counter.try_lock() {
                                Some(counter) => break counter,
                                None => yield_now(),
                            }
                        },
                        _ => counter.lock(),
                    };
                    let seen = *counter;
                    rng.pause();
                    *counter = seen + 1;
                    count(Op::Lock);
                }
            });
        }
    });
    assert_eq!(counter.into_inner(), goroutines * each);
}

pub fn readers_and_writers(rng: &mut Rng) {
    let (goroutines, each) = (rng.up_to(8), rng.up_to(100));
    let lock = RwLock::new([0; 2]);
    let written = AtomicUsize::new(0);
    scope(|s| {
        for _ in 0..goroutines {
            let (lock, written, mut rng) = (&lock, &written, rng.fork());
            s.go(move || {
                for _ in 0..each {
                    count(Op::Lock);
                    if rng.one_in(4) {
                        let mut pair = lock.write();
                        pair[0] += 1;
                        rng.pause();
                        pair[1] += 1;
                        written.fetch_add(1, Ordering::Relaxed);
                    } else if rng.one_in(4) {
                        assert!(lock.try_read().is_none_or(|pair| pair[0] == pair[1]));
                    } else {
                        let pair = lock.read();
                        let seen = *pair;
                        rng.pause();
                        assert_eq!((seen[0], *pair), (seen[1], seen));
                    }
                }
            });
        }
    });
    assert_eq!(lock.into_inner(), [written.into_inner(); 2]);
}

/// A bounded queue made of a mutex and two conditions.
pub fn queue(rng: &mut Rng) {
    let (producers, each, consumers, room) = (rng.up_to(4), rng.up_to(60), rng.up_to(4), rng.up_to(5));
    let ledger = Ledger::new(producers * each);
    let queue = Mutex::new((VecDeque::<Token>::new(), producers * each));
    let (not_full, not_empty) = (Condvar::new(), Condvar::new());
    scope(|s| {
        for _ in 0..producers {
            let (ledger, queue, not_full, not_empty) = (&ledger, &queue, &not_full, &not_empty);
            let mut rng = rng.fork();
            s.go(move || {
                for _ in 0..each {
                    let mut held = not_full.wait_while(queue.lock(), |(queue, _)| queue.len() >= room);
                    held.0.push_back(ledger.token());
                    ledger.sent();
                    drop(held);
                    not_empty.notify_one();
                    rng.pause();
                    count(Op::Wait);
                }
            });
        }
        for _ in 0..consumers {
            let (ledger, queue, not_full, not_empty) = (&ledger, &queue, &not_full, &not_empty);
            s.go(move || {
                loop {
                    let mut held =
                        not_empty.wait_while(queue.lock(), |(queue, left)| queue.is_empty() && *left > 0);
                    let Some(token) = held.0.pop_front() else { break };
                    held.1 -= 1;
                    if held.1 == 0 {
                        not_empty.notify_all();
                    }
                    drop(held);
                    not_full.notify_one();
                    ledger.received(token);
                    count(Op::Wait);
                }
            });
        }
    });
    drop(queue);
    ledger.settle();
}

pub fn permits(rng: &mut Rng) {
    let (goroutines, each, permits) = (rng.up_to(8), rng.up_to(80), rng.up_to(4));
    let semaphore = Semaphore::new(permits);
    let inside = AtomicUsize::new(0);
    scope(|s| {
        for _ in 0..goroutines {
            let (semaphore, inside, mut rng) = (&semaphore, &inside, rng.fork());
            s.go(move || {
                for _ in 0..each {
                    let n = rng.up_to(permits);
                    let permit = if rng.one_in(3) { semaphore.try_acquire() } else { None };
                    let (permit, n) = match permit {
                        Some(permit) => (permit, 1),
                        None => (semaphore.acquire_many(n), n),
                    };
                    assert!(inside.fetch_add(n, Ordering::Relaxed) + n <= permits);
                    rng.pause();
                    inside.fetch_sub(n, Ordering::Relaxed);
                    drop(permit);
                    count(Op::Lock);
                }
            });
        }
    });
    assert_eq!(semaphore.available_permits(), permits);
}

pub fn rounds(rng: &mut Rng) {
    let (goroutines, rounds) = (rng.up_to(8), rng.up_to(40));
    let barrier = Barrier::new(goroutines);
    let (arrived, led) = (AtomicUsize::new(0), AtomicUsize::new(0));
    scope(|s| {
        for _ in 0..goroutines {
            let (barrier, arrived, led, mut rng) = (&barrier, &arrived, &led, rng.fork());
            s.go(move || {
                for round in 1..=rounds {
                    arrived.fetch_add(1, Ordering::Relaxed);
                    rng.pause();
                    let leads = barrier.wait().is_leader();
                    led.fetch_add(usize::from(leads), Ordering::Relaxed);
                    assert!(arrived.load(Ordering::Relaxed) >= round * goroutines);
                    count(Op::Wait);
                }
            });
        }
    });
    assert_eq!(led.into_inner(), rounds);
}

pub fn once(rng: &mut Rng) {
    for _ in 0..rng.up_to(30) {
        let (once, cell, calls) = (Once::new(), OnceLock::new(), AtomicUsize::new(0));
        let group = std::sync::Arc::new(WaitGroup::new());
        scope(|s| {
            for i in 0..rng.up_to(6) {
                let (once, cell, calls, mut rng) = (&once, &cell, &calls, rng.fork());
                s.go(move || {
                    rng.pause();
                    once.call_once(|| {
                        rng.pause();
                        calls.fetch_add(1, Ordering::Relaxed);
                    });
                    assert_eq!(calls.load(Ordering::Relaxed), 1);
                    assert_eq!(cell.get_or_init(|| i), cell.get().unwrap());
                });
            }
            group.add(2);
            for _ in 0..2 {
                let group = group.clone();
                go(move || group.done());
            }
            group.wait();
            count(Op::Wait);
        });
    }
}
