//! Time: goroutines that sleep, waits whose timeout may end first, timers that are stopped and
//! reset while they fire.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gosched::chan::{Receiver, RecvTimeoutError, Sender, bounded};
use gosched::sync::Semaphore;
use gosched::time::{Timer, after, now, sleep, tick};
use gosched::{scope, select};

use super::channels::room;
use super::ledger::{Ledger, Token};
use super::rng::Rng;
use super::tally::{Op, count};

/// Returns a random duration of less than 30 µs, which may be 0.
fn short(rng: &mut Rng) -> Duration {
    Duration::from_nanos(rng.below(30_000) as u64)
}

/// Many goroutines, which sleep a few times each.
pub fn naps(rng: &mut Rng) {
    let (sleepers, each) = (rng.up_to(100), rng.up_to(20));
    scope(|s| {
        for _ in 0..sleepers {
            let mut rng = rng.fork();
            s.go(move || {
                for _ in 0..each {
                    let (d, start) = (short(&mut rng), now());
                    match rng.below(3) {
                        0 => sleep(d),
                        1 => assert!(after(d).recv().is_ok()),
                        _ => select! { default(d) => {} },
                    }
                    assert!(now() - start >= d, "woken too early");
                    count(Op::Sleep);
                }
            });
        }
    });
}

/// Senders and receivers with short timeouts. A send whose time is over gives its token back.
pub fn impatient(rng: &mut Rng) {
    let (senders, receivers, each) = (rng.up_to(4), rng.up_to(4), rng.up_to(100));
    let ledger = Ledger::new(senders * each);
    let (tx, rx) = bounded(room(rng));
    scope(|s| {
        for _ in 0..senders {
            let (tx, mut rng, ledger) = (tx.clone(), rng.fork(), &ledger);
            s.go(move || (0..each).for_each(|_| send(&mut rng, &tx, ledger)));
        }
        drop(tx);
        for _ in 0..receivers {
            let (rx, mut rng, ledger) = (rx.clone(), rng.fork(), &ledger);
            s.go(move || while receive(&mut rng, &rx, ledger) {});
        }
        drop(rx);
    });
    ledger.settle();
}

fn send(rng: &mut Rng, tx: &Sender<Token>, ledger: &std::sync::Arc<Ledger>) {
    let token = ledger.token();
    let sent = match rng.below(3) {
        0 => tx.send(token).is_ok(),
        1 => tx.send_timeout(token, short(rng)).is_ok(),
        _ => select! {
            send(tx, token) -> sent => sent.is_ok(),
            default(short(rng)) => false,
        },
    };
    if sent {
        ledger.sent();
    }
    count(Op::Send);
}

/// Receives a token, perhaps with a timeout. Returns false if the channel is closed.
fn receive(rng: &mut Rng, rx: &Receiver<Token>, ledger: &Ledger) -> bool {
    let token = match rng.below(3) {
        0 => rx.recv().map_err(|_| RecvTimeoutError::Disconnected),
        1 => rx.recv_timeout(short(rng)),
        _ => select! {
            recv(rx) -> token => token.map_err(|_| RecvTimeoutError::Disconnected),
            default(short(rng)) => Err(RecvTimeoutError::Timeout),
        },
    };
    count(Op::Receive);
    match token {
        Ok(token) => ledger.received(token),
        Err(error) => return error == RecvTimeoutError::Timeout,
    }
    true
}

/// A timer that several goroutines set and stop. Each time that the timer is set to ends once: the
/// time is received, or the timer is stopped or reset before.
pub fn fickle(rng: &mut Rng) {
    let (changers, each) = (rng.up_to(4), rng.up_to(100));
    let timer = Timer::new(short(rng));
    let [made, ended] = [1, 0].map(AtomicUsize::new);
    let add = |counter: &AtomicUsize, more: bool| counter.fetch_add(usize::from(more), Ordering::Relaxed);
    scope(|s| {
        for _ in 0..changers {
            let (mut rng, timer, made, ended) = (rng.fork(), &timer, &made, &ended);
            s.go(move || {
                for _ in 0..each {
                    match rng.below(4) {
                        0 => add(ended, timer.stop()),
                        1 => add(ended, timer.c().recv_timeout(short(&mut rng)).is_ok()),
                        _ => {
                            add(made, true);
                            add(ended, timer.reset(short(&mut rng)))
                        }
                    };
                    rng.pause();
                    count(Op::Sleep);
                }
            });
        }
    });
    add(&ended, timer.stop());
    assert_eq!(made.into_inner(), ended.into_inner());
}

/// A semaphore with short timeouts, and a ticker that is dropped while it ticks.
pub fn few_permits(rng: &mut Rng) {
    let (takers, each, permits) = (rng.up_to(6), rng.up_to(40), rng.up_to(3));
    let semaphore = Semaphore::new(permits);
    let inside = AtomicUsize::new(0);
    let ticks = tick(Duration::from_nanos(1 + rng.below(10_000) as u64));
    scope(|s| {
        for _ in 0..takers {
            let (mut rng, semaphore, inside, ticks) = (rng.fork(), &semaphore, &inside, ticks.clone());
            s.go(move || {
                for _ in 0..each {
                    let n = rng.up_to(permits);
                    if let Some(_permits) = semaphore.acquire_many_timeout(n, short(&mut rng)) {
                        assert!(inside.fetch_add(n, Ordering::SeqCst) + n <= permits);
                        assert!(ticks.recv().is_ok());
                        inside.fetch_sub(n, Ordering::SeqCst);
                    }
                    count(Op::Lock);
                }
            });
        }
        drop(ticks);
    });
    assert_eq!(semaphore.available_permits(), permits);
}
