//! The work of goroutines that lose their P all the time. Each round of a scenario has its own
//! ledger.

use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use gosched::chan::bounded;
use gosched::iter::pull;
use gosched::proc::{self, StwReason};
use gosched::sync::{Mutex, RwLock, Semaphore};
use gosched::time::{Timer, after, sleep};
use gosched::{blocking, go, goexit, gomaxprocs, lock_os_thread, scope, select, set_gomaxprocs, yield_now};

use crate::harness::rng::Rng;

/// A round; the second argument is the initial number of P's. Returns how much was done, for the
/// report.
type Scenario = fn(&mut Rng, usize) -> u64;

pub const SCENARIOS: &[(&str, Scenario)] = &[
    ("messages", messages),
    ("selects", selects),
    ("locks", locks),
    ("locks of std's", locks_of_stds),
    ("messages of std's", messages_of_stds),
    ("goroutines", goroutines),
    ("timers", timers),
    ("iterators", iterators),
    ("locked threads", locked_threads),
    ("blocks of memory", blocks),
    ("bytes through a pipe", pipes),
    ("calls that block", calls),
    ("stops of the world", stops),
    ("changes of GOMAXPROCS", resizes),
];

fn messages(rng: &mut Rng, _: usize) -> u64 {
    const EACH: u64 = 500;
    let (tx, rx) = bounded(rng.below(4));
    let received: Vec<_> = (0..3)
        .map(|_| rx.clone())
        .map(|rx| go(move || rx.iter().fold((0, 0), |(n, sum): (u64, u64), value: u64| (n + 1, sum + value))))
        .collect();
    drop(rx);
    scope(|s| {
        for _ in 0..4 {
            s.go(|| (0..EACH).for_each(|i| tx.send(i).unwrap()));
        }
    });
    drop(tx);
    let all = received.into_iter().map(|handle| handle.join().unwrap());
    let (n, sum) = all.fold((0, 0), |all, (n, sum)| (all.0 + n, all.1 + sum));
    assert_eq!((n, sum), (4 * EACH, 4 * (0..EACH).sum::<u64>()));
    n
}

fn selects(rng: &mut Rng, _: usize) -> u64 {
    const EACH: u64 = 200;
    let ((a, from_a), (b, from_b)) = (bounded(rng.below(2)), bounded(rng.below(2)));
    let received = go(move || {
        let (mut n, mut sum) = (0, 0);
        while n < 2 * EACH {
            sum += select! {
                recv(from_a) -> value => value.unwrap(),
                recv(from_b) -> value => value.unwrap(),
                default(Duration::from_micros(50)) => continue,
            };
            n += 1;
        }
        sum
    });
    for i in 0..EACH {
        for _ in 0..2 {
            select! {
                send(a, i) -> sent => sent.unwrap(),
                send(b, i) -> sent => sent.unwrap(),
            }
        }
    }
    assert_eq!(received.join().unwrap(), 2 * (0..EACH).sum::<u64>());
    2 * EACH
}

fn locks(rng: &mut Rng, _: usize) -> u64 {
    const EACH: u64 = 100;
    let (mutex, pair, semaphore) = (Mutex::new(0), RwLock::new([0; 2]), Semaphore::new(2));
    let inside = AtomicUsize::new(0);
    scope(|s| {
        for _ in 0..6 {
            let (mutex, pair, semaphore, inside, mut rng) = (&mutex, &pair, &semaphore, &inside, rng.fork());
            s.go(move || {
                for _ in 0..EACH {
                    let mut held = mutex.lock();
                    let seen = *held;
                    if rng.below(10) == 0 {
                        yield_now();
                    }
                    *held = seen + 1;
                    drop(held);
                    pair.write()[0] += 1;
                    let _permit = semaphore.acquire();
                    assert!(inside.fetch_add(1, Ordering::Relaxed) < 2);
                    pair.write()[1] += 1;
                    let seen = *pair.read();
                    assert!(seen[0] >= seen[1]);
                    inside.fetch_sub(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!((mutex.into_inner(), pair.into_inner()), (6 * EACH, [6 * EACH; 2]));
    assert_eq!(semaphore.available_permits(), 2);
    6 * EACH
}

fn locks_of_stds(_: &mut Rng, _: usize) -> u64 {
    const EACH: u64 = 300;
    let (mutex, pair) = (std::sync::Mutex::new(0), std::sync::RwLock::new([0; 2]));
    scope(|s| {
        for _ in 0..4 {
            s.go(|| {
                for _ in 0..EACH {
                    *mutex.lock().unwrap() += 1;
                    pair.write().unwrap().iter_mut().for_each(|n| *n += 1);
                    let seen = *pair.read().unwrap();
                    assert_eq!(seen[0], seen[1]);
                }
            });
        }
    });
    assert_eq!((mutex.into_inner().unwrap(), pair.into_inner().unwrap()), (4 * EACH, [4 * EACH; 2]));
    4 * EACH
}

fn messages_of_stds(rng: &mut Rng, _: usize) -> u64 {
    const EACH: u64 = 100;
    let (tx, rx) = mpsc::sync_channel(rng.below(3));
    let received = go(move || rx.iter().sum::<u64>());
    scope(|s| {
        for _ in 0..2 {
            s.go(|| (0..EACH).for_each(|i| tx.send(i).unwrap()));
        }
    });
    drop(tx);
    assert_eq!(received.join().unwrap(), 2 * (0..EACH).sum::<u64>());
    2 * EACH
}

fn goroutines(rng: &mut Rng, _: usize) -> u64 {
    const MANY: usize = 60;
    let made: Vec<_> = (0..MANY)
        .map(|i| {
            let (how, yields) = (rng.below(4), rng.below(3));
            let handle = go(move || {
                (0..yields).for_each(|_| yield_now());
                match how {
                    0 => goexit(),
                    1 => resume_unwind(Box::new(i)),
                    _ => go(move || [i; 100]).join().unwrap(),
                }
            });
            (i, how, handle)
        })
        .collect();
    for (i, how, handle) in made {
        match (how, handle.join()) {
            (0, Err(error)) => assert!(error.is_goexit()),
            (1, Err(error)) => assert_eq!(*error.into_panic().downcast::<usize>().unwrap(), i),
            (_, outcome) => assert_eq!(outcome.unwrap(), [i; 100]),
        }
    }
    MANY as u64
}

fn timers(rng: &mut Rng, _: usize) -> u64 {
    let fired = Arc::new(AtomicU64::new(0));
    let soon = |rng: &mut Rng| Duration::from_micros(rng.below(300) as u64);
    let theirs = fired.clone();
    let timers: Vec<_> = (0..20)
        .map(|_| {
            let theirs = theirs.clone();
            Timer::after_func(soon(rng), move || _ = theirs.fetch_add(1, Ordering::Relaxed))
        })
        .collect();
    scope(|s| {
        for _ in 0..10 {
            let (first, second) = (soon(rng), soon(rng));
            s.go(move || {
                sleep(first);
                after(second).recv().unwrap();
            });
        }
    });
    let stopped = timers.iter().filter(|_| rng.below(2) == 0).filter(|timer| timer.stop()).count() as u64;
    while fired.load(Ordering::Relaxed) + stopped < 20 {
        yield_now();
    }
    sleep(soon(rng));
    assert_eq!(fired.load(Ordering::Relaxed) + stopped, 20);
    20
}

fn iterators(rng: &mut Rng, _: usize) -> u64 {
    let (all, taken) = (rng.below(50), rng.below(50));
    let mut numbers = pull(move |out| {
        for i in 0..all {
            if i % 7 == 0 {
                yield_now();
            }
            out.yield_(i);
        }
    });
    let sum: usize = numbers.by_ref().take(taken).sum();
    assert_eq!(sum, (0..all.min(taken)).sum());
    all.min(taken) as u64
}

fn locked_threads(rng: &mut Rng, _: usize) -> u64 {
    let (tx, rx) = bounded(rng.below(2));
    let stays = rng.below(2) == 0;
    let locked = go(move || {
        let locked = lock_os_thread();
        let here = proc::getm();
        for i in 0..20_u64 {
            tx.send(i).unwrap();
            yield_now();
            assert_eq!(proc::getm(), here);
        }
        if stays {
            std::mem::forget(locked);
        }
    });
    assert_eq!(rx.iter().sum::<u64>(), (0..20).sum());
    locked.join().unwrap();
    20
}

fn blocks(rng: &mut Rng, _: usize) -> u64 {
    let (tx, rx) = bounded::<(usize, Vec<usize>)>(4);
    let checked = go(move || {
        rx.iter()
            .map(|(n, block)| block.iter().all(|&word| word == n) && block.len() == n)
            .filter(|&right| right)
            .count()
    });
    for _ in 0..300 {
        let n = rng.below(2000);
        tx.send((n, vec![n; n])).unwrap();
    }
    drop(tx);
    assert_eq!(checked.join().unwrap(), 300);
    300
}

/// The reader is slow, so the writers wait in the kernel.
fn pipes(rng: &mut Rng, _: usize) -> u64 {
    const LEN: usize = 1000;
    let (mut rx, tx) = io::pipe().unwrap();
    let drained = go(move || {
        let mut counts = [0_u64; 3];
        let mut piece = vec![0; 5000];
        loop {
            let n = rx.read(&mut piece).unwrap();
            if n == 0 {
                return counts;
            }
            piece[..n].iter().for_each(|&byte| counts[byte as usize] += 1);
            sleep(Duration::from_micros(20));
        }
    });
    let lines = 50 + rng.below(50);
    scope(|s| {
        for byte in 0..3_u8 {
            let mut tx = tx.try_clone().unwrap();
            s.go(move || (0..lines).for_each(|_| tx.write_all(&[byte; LEN]).unwrap()));
        }
    });
    drop(tx);
    assert_eq!(drained.join().unwrap(), [(lines * LEN) as u64; 3]);
    (3 * lines * LEN) as u64
}

fn calls(rng: &mut Rng, _: usize) -> u64 {
    let handles: Vec<_> = (0..10_u64)
        .map(|i| {
            let pause = Duration::from_micros(rng.below(100) as u64);
            go(move || {
                let handle = blocking(|| {
                    std::thread::sleep(pause);
                    blocking(|| go(move || i))
                });
                handle.join().unwrap()
            })
        })
        .collect();
    let sum: u64 = handles.into_iter().map(|handle| handle.join().unwrap()).sum();
    assert_eq!(sum, (0..10).sum());
    10
}

fn stops(rng: &mut Rng, _: usize) -> u64 {
    static STOPPED: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: it doesn't park until it starts the world.
    let w = unsafe { proc::stop_the_world(StwReason::Unknown) };
    assert_eq!(STOPPED.fetch_add(1, Ordering::Relaxed), 0);
    STOPPED.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: this goroutine has stopped the world.
    unsafe { proc::start_the_world(w) };
    sleep(Duration::from_micros(rng.below(2000) as u64));
    1
}

fn resizes(rng: &mut Rng, procs: usize) -> u64 {
    let n = 1 + rng.below(2 * procs);
    set_gomaxprocs(NonZeroUsize::new(n).unwrap());
    assert_eq!(gomaxprocs(), n);
    sleep(Duration::from_micros(rng.below(2000) as u64));
    1
}
