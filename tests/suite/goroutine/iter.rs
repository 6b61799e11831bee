//! Iterators made from code that yields: `iter::pull`, on any goroutine and thread.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use gosched::chan::bounded;
use gosched::iter::{Pull, Yielder, pull};
use gosched::proc;
use gosched::sync::Mutex;
use gosched::{Builder, go, lock_os_thread, scope, select, yield_now};

use crate::harness::panics::panics;
use crate::harness::storm::storm;
use crate::harness::{rounds, run_with_procs, tests};

tests! {
    values_come_in_order
    a_million_values
    the_generator_runs_only_when_it_is_asked
    generators_use_generators
    an_iterator_goes_from_goroutine_to_goroutine
    a_generator_parks_as_others_do
    generators_in_selects
    many_at_once
    a_locked_goroutine_keeps_its_thread
    a_generator_that_ends_locked
    a_foreign_thread_has_one
    a_deep_generator
}

/// Runs `main` with several P's.
pub(super) fn run<T: Send>(main: impl FnOnce() -> T + Send) -> T {
    run_with_procs(4, main)
}

/// Counts one when it is dropped.
#[derive(Clone, Default)]
pub(super) struct Counts(Arc<AtomicUsize>);

impl Counts {
    pub(super) fn dropped(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Yields the numbers from `first` on.
pub(super) fn count_from(first: u64, out: &Yielder<u64>) {
    for i in first.. {
        out.yield_(i);
    }
}

/// The numbers from 0 on.
pub(super) fn numbers() -> Pull<u64> {
    pull(|out| count_from(0, out))
}

/// This thread's number.
pub(super) fn thread_of_goroutine() -> u64 {
    // SAFETY: on a goroutine, which has an M.
    unsafe { (*proc::getm()).procid.load(Ordering::Relaxed) }
}

fn values_come_in_order() {
    run(|| {
        let mut values = pull(|out: &Yielder<String>| (0..100).for_each(|i| out.yield_(i.to_string())));
        for i in 0..100 {
            assert_eq!(values.next(), Some(i.to_string()));
        }
        assert_eq!([values.next(), values.next()], [None, None]);
        assert_eq!(pull(|_: &Yielder<()>| ()).next(), None);
    });
}

/// A million values, where all tests run whole.
fn a_million_values() {
    run(|| {
        let many = rounds(1_000_000) as u64;
        assert_eq!(numbers().take(many as usize).sum::<u64>(), many * (many - 1) / 2);
    });
}

fn the_generator_runs_only_when_it_is_asked() {
    run(|| {
        let steps = Counts::default();
        let mut values = pull({
            let steps = steps.clone();
            move |out| {
                for i in 0..3 {
                    drop(steps.clone());
                    out.yield_(i);
                }
            }
        });
        for i in 0..3 {
            assert_eq!(steps.dropped(), i);
            assert_eq!(values.next(), Some(i));
        }
    });
}

fn generators_use_generators() {
    /// Returns the values that `p` doesn't divide.
    fn filter(values: Pull<u64>, p: u64, counts: Counts) -> Pull<u64> {
        pull(move |out| {
            let _counts = counts;
            values.filter(|value| value % p != 0).for_each(|value| out.yield_(value));
        })
    }
    run(|| {
        let counts = Counts::default();
        let first = counts.clone();
        let mut values = pull(move |out| {
            let _first = first;
            count_from(2, out);
        });
        let mut primes = Vec::new();
        for _ in 0..60 {
            let p = values.next().unwrap();
            primes.push(p);
            values = filter(values, p, counts.clone());
        }
        assert_eq!((primes[0], primes[9], primes[59]), (2, 29, 281));
        // The last iterator owns the one before it, and so on.
        drop(values);
        assert_eq!(counts.dropped(), 61);
    });
}

fn an_iterator_goes_from_goroutine_to_goroutine() {
    run(|| {
        let (tx, rx) = bounded::<Pull<u64>>(1);
        let seen = AtomicU64::new(0);
        tx.send(numbers()).unwrap();
        scope(|s| {
            for _ in 0..8 {
                let (tx, rx, seen) = (tx.clone(), rx.clone(), &seen);
                s.go(move || {
                    for _ in storm(1000) {
                        let mut values = rx.recv().unwrap();
                        let expected = seen.fetch_add(1, Ordering::Relaxed);
                        assert_eq!(values.next(), Some(expected));
                        tx.send(values).unwrap();
                    }
                });
            }
        });
        assert_eq!(rx.recv().unwrap().next(), Some(seen.into_inner()));
    });
}

fn a_generator_parks_as_others_do() {
    run(|| {
        let (tx, rx) = bounded::<u64>(0);
        let lock = Arc::new(Mutex::new(0));
        let values = pull({
            let lock = lock.clone();
            move |out| {
                for value in rx {
                    yield_now();
                    *lock.lock() += value;
                    out.yield_(go(move || 2 * value).join().unwrap());
                }
            }
        });
        go(move || (0..100).for_each(|i| tx.send(i).unwrap()));
        let beside = go(move || {
            for _ in 0..100 {
                let held = lock.lock();
                yield_now();
                drop(held);
            }
            lock
        });
        assert_eq!(values.sum::<u64>(), 9_900);
        assert_eq!(*beside.join().unwrap().lock(), 4_950);
    });
}

fn generators_in_selects() {
    run(|| {
        let (tx_a, a) = bounded(0);
        let (tx_b, b) = bounded(2);
        for (tx, step) in [(&tx_a, 1), (&tx_b, 1_000_000)] {
            let tx = tx.clone();
            go(move || numbers().take(100).for_each(|i| tx.send(i * step).unwrap()));
        }
        let both = pull(move |out| {
            for _ in 0..200 {
                select! {
                    recv(a) -> value => out.yield_(value.unwrap()),
                    recv(b) -> value => out.yield_(value.unwrap()),
                }
            }
        });
        assert_eq!(both.sum::<u64>(), 4_950 * 1_000_001);
    });
}

fn many_at_once() {
    run(|| {
        scope(|s| {
            for k in 0..8 {
                s.go(move || {
                    for n in 0..100 {
                        let mut values = numbers();
                        let sum = values.by_ref().take(n).sum::<u64>();
                        assert_eq!(sum, (n as u64 * n.saturating_sub(1) as u64) / 2);
                        if k % 2 == 0 {
                            yield_now();
                        }
                    }
                });
            }
        });
    });
}

fn a_locked_goroutine_keeps_its_thread() {
    run(|| {
        let asks = go(|| {
            let _locked = lock_os_thread();
            let here = thread_of_goroutine();
            let threads = pull(|out| {
                for _ in 0..50 {
                    out.yield_(thread_of_goroutine());
                }
            });
            for thread in threads {
                assert_ne!(thread, here);
                assert_eq!(thread_of_goroutine(), here);
            }
        });
        let answers = pull(|out| {
            let _locked = lock_os_thread();
            let here = thread_of_goroutine();
            for _ in 0..50 {
                out.yield_(here);
                assert_eq!(thread_of_goroutine(), here);
            }
        });
        for thread in answers {
            assert_ne!(thread_of_goroutine(), thread);
        }
        asks.join().unwrap();
    });
}

fn a_generator_that_ends_locked() {
    run(|| {
        for _ in 0..20 {
            let mut values = pull(|out| {
                std::mem::forget(lock_os_thread());
                out.yield_(1);
            });
            assert_eq!((values.next(), values.next()), (Some(1), None));
        }
        let _locked = lock_os_thread();
        assert_eq!(numbers().take(3).collect::<Vec<_>>(), [0, 1, 2]);
    });
}

fn a_foreign_thread_has_one() {
    let counts = Counts::default();
    let (mut values, made_outside) = run(|| {
        let counts = counts.clone();
        let mut values = pull(move |out| {
            let _counts = counts;
            count_from(0, out);
        });
        assert_eq!(values.next(), Some(0));
        (values, thread::spawn(numbers).join().unwrap())
    });
    let message =
        "gosched::iter::Pull::next called on a thread that isn't a goroutine's: use it inside gosched::run";
    assert_eq!(panics(|| values.next()), message);
    let values = run(|| {
        assert_eq!(values.next(), Some(1));
        values
    });
    drop(values);
    drop(made_outside);
    while counts.dropped() < 1 {
        thread::yield_now();
    }
}

fn a_deep_generator() {
    run(|| {
        fn dive(n: u32, out: &Yielder<u32>) {
            if black_box(n) > 0 {
                dive(n - 1, out);
            }
            out.yield_(n);
        }
        let values = Builder::new().name("deep").stack_size(64 << 20).pull(|out| dive(100_000, out)).unwrap();
        assert_eq!(values.map(u64::from).sum::<u64>(), 5_000_050_000);
    });
}
