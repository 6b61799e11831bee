//! std's locks, which block the thread of a goroutine that waits for them.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Condvar, Mutex, PoisonError, RwLock};
use std::time::Duration;

use gosched::{goexit, lock_os_thread, scope, time, yield_now};

use crate::computing::{a_while, compute};
use crate::ledger::{Ledger, Token};
use crate::rng::Rng;
use crate::tally::{Op, count};

/// How a goroutine ends.
#[derive(Clone, Copy)]
enum End {
    Return,
    Panic,
    Goexit,
}

/// The goroutine that holds the lock computes now and then. So it may lose its P, and others wait
/// for the lock meanwhile.
pub fn counter(rng: &mut Rng) {
    let (goroutines, each) = (rng.up_to(6), rng.up_to(20));
    let counter = Mutex::new(0);
    scope(|s| {
        for _ in 0..goroutines {
            let (counter, mut rng) = (&counter, rng.fork());
            s.go(move || {
                for _ in 0..each {
                    let mut counter = counter.lock().expect("nobody panics");
                    let seen = *counter;
                    if rng.one_in(20) {
                        compute(a_while(&mut rng));
                    }
                    *counter = seen + 1;
                    count(Op::Lock);
                }
            });
        }
    });
    assert_eq!(counter.into_inner().expect("nobody panics"), goroutines * each);
}

pub fn readers_and_writers(rng: &mut Rng) {
    let (goroutines, each) = (rng.up_to(6), rng.up_to(20));
    let lock = RwLock::new([0; 2]);
    scope(|s| {
        for _ in 0..goroutines {
            let (lock, mut rng) = (&lock, rng.fork());
            s.go(move || {
                for _ in 0..each {
                    let computes = rng.one_in(20);
                    if rng.one_in(3) {
                        let mut pair = lock.write().expect("nobody panics");
                        pair[0] += 1;
                        if computes {
                            compute(a_while(&mut rng));
                        }
                        pair[1] += 1;
                    } else {
                        let pair = lock.read().expect("nobody panics");
                        let seen = *pair;
                        if computes {
                            compute(a_while(&mut rng));
                        }
                        assert_eq!((seen[0], *pair), (seen[1], seen));
                    }
                    count(Op::Lock);
                }
            });
        }
    });
}

/// Each goroutine ends while it holds the lock. If it panics, the lock is poisoned. Panics of other
/// goroutines, which don't hold the lock, don't poison it.
pub fn poisoned(rng: &mut Rng) {
    let lock = Mutex::new(End::Return);
    scope(|s| {
        for _ in 0..rng.up_to(8) {
            let (lock, mut rng) = (&lock, rng.fork());
            let handle = s.go(move || {
                rng.pause();
                let locked = lock.lock();
                let was_poisoned = locked.is_err();
                lock.clear_poison();
                let mut last = locked.unwrap_or_else(PoisonError::into_inner);
                match *last {
                    End::Return => assert!(!was_poisoned, "another goroutine's panic poisoned the lock"),
                    End::Panic => assert!(was_poisoned),
                    // Goexit unwinds, so std may take it for a panic.
                    End::Goexit => {}
                }
                compute(a_while(&mut rng));
                *last = rng.pick(&[End::Return, End::Panic, End::Goexit]);
                match *last {
                    End::Return => {}
                    End::Panic => {
                        count(Op::Panic);
                        resume_unwind(Box::new(()))
                    }
                    End::Goexit => {
                        count(Op::Goexit);
                        goexit()
                    }
                }
            });
            // Asserts that the goroutine panics only on purpose: with the payload `()`.
            s.go(move || match handle.join() {
                Err(error) if !error.is_goexit() => assert!(error.into_panic().is::<()>()),
                _ => {}
            });
        }
    });
}

/// A bounded queue made of a mutex and two conditions.
pub fn queue(rng: &mut Rng) {
    let (producers, each, consumers, room) = (rng.up_to(3), rng.up_to(20), rng.up_to(3), rng.up_to(4));
    let ledger = Ledger::new(producers * each);
    let queue = Mutex::new((VecDeque::<Token>::new(), producers * each));
    let (not_full, not_empty) = (Condvar::new(), Condvar::new());
    scope(|s| {
        for _ in 0..producers {
            let (ledger, queue, not_full, not_empty) = (&ledger, &queue, &not_full, &not_empty);
            let mut rng = rng.fork();
            s.go(move || {
                for _ in 0..each {
                    let held = queue.lock().expect("nobody panics");
                    let is_full = |(queue, _): &mut (VecDeque<_>, _)| queue.len() >= room;
                    let mut held = not_full.wait_while(held, is_full).expect("nobody panics");
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
                    let held = queue.lock().expect("nobody panics");
                    let is_empty =
                        |(queue, left): &mut (VecDeque<Token>, usize)| queue.is_empty() && *left > 0;
                    let mut held = not_empty.wait_while(held, is_empty).expect("nobody panics");
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

/// A barrier, at which all threads but the last wait at once.
pub fn rounds(rng: &mut Rng) {
    let (goroutines, rounds) = (rng.up_to(6), rng.up_to(10));
    let barrier = Barrier::new(goroutines);
    let arrived = AtomicUsize::new(0);
    scope(|s| {
        for _ in 0..goroutines {
            let (barrier, arrived, mut rng) = (&barrier, &arrived, rng.fork());
            s.go(move || {
                for round in 1..=rounds {
                    arrived.fetch_add(1, Ordering::Relaxed);
                    rng.pause();
                    barrier.wait();
                    assert!(arrived.load(Ordering::Relaxed) >= round * goroutines);
                    count(Op::Wait);
                }
            });
        }
    });
}

/// The goroutine that holds the lock parks. It is locked to its thread, because std requires that a
/// lock is released on the thread that took it.
pub fn kept_while_parked(rng: &mut Rng) {
    let (goroutines, each) = (rng.up_to(5), rng.up_to(5));
    let counter = Mutex::new(0);
    scope(|s| {
        for _ in 0..goroutines {
            let (counter, mut rng) = (&counter, rng.fork());
            s.go(move || {
                let _on_one_thread = lock_os_thread();
                for _ in 0..each {
                    let mut counter = counter.lock().expect("nobody panics");
                    let seen = *counter;
                    match rng.below(3) {
                        0 => yield_now(),
                        1 => time::sleep(Duration::from_micros(rng.below(1000) as u64)),
                        _ => {}
                    }
                    *counter = seen + 1;
                    count(Op::Lock);
                }
            });
        }
    });
    assert_eq!(counter.into_inner().expect("nobody panics"), goroutines * each);
}
