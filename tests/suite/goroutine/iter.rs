//! Iterators made of code that yields: `iter::pull`.

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use gosched::chan::bounded;
use gosched::iter::{Pull, Yielder, pull};
use gosched::proc;
use gosched::sync::Mutex;
use gosched::{Builder, go, goexit, lock_os_thread, scope, select, yield_now};

use crate::harness::goroutines::wait_until;
use crate::harness::panics::{panics, text};
use crate::harness::{run_with_procs, tests};

tests! {
    values_come_in_order
    a_million_values
    the_generator_runs_only_when_it_is_asked
    a_dropped_generator_has_dropped_what_it_had
    a_generator_that_has_not_begun_never_does
    values_that_nobody_asks_for_are_dropped
    a_panic_goes_on_in_next
    a_panic_of_a_stopped_generator_goes_on_in_the_drop
    goexit_ends_who_has_asked
    generators_use_generators
    an_iterator_goes_from_goroutine_to_goroutine
    a_generator_parks_as_others_do
    generators_in_selects
    many_at_once
    a_locked_goroutine_keeps_its_thread
    a_generator_that_ends_locked
    a_panic_is_nobody_elses
    generators_that_are_dropped_by_unwinding
    a_foreign_thread_has_one
    on_g0_it_is_dropped_later
    a_deep_generator
}

/// Runs `main` with several P's.
fn run<T: Send>(main: impl FnOnce() -> T + Send) -> T {
    run_with_procs(4, main)
}

/// Counts one when it is dropped.
#[derive(Clone, Default)]
struct Counts(Arc<AtomicUsize>);

impl Counts {
    fn dropped(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Calls a closure when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Yields the numbers from `first` on.
fn count_from(first: u64, out: &Yielder<u64>) {
    for i in first.. {
        out.yield_(i);
    }
}

/// The numbers from 0 on.
fn numbers() -> Pull<u64> {
    pull(|out| count_from(0, out))
}

/// This thread's number.
fn thread_of_goroutine() -> u64 {
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

fn a_million_values() {
    run(|| {
        assert_eq!(numbers().take(1_000_000).sum::<u64>(), 499_999_500_000);
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

fn a_dropped_generator_has_dropped_what_it_had() {
    run(|| {
        let counts = Counts::default();
        let mut values = pull({
            let (captured, local) = (counts.clone(), counts.clone());
            move |out| {
                let _captured = &captured;
                let _local = local;
                count_from(0, out);
            }
        });
        assert_eq!((values.next(), values.next()), (Some(0), Some(1)));
        assert_eq!(counts.dropped(), 0);
        drop(values);
        assert_eq!(counts.dropped(), 2);
    });
}

fn a_generator_that_has_not_begun_never_does() {
    run(|| {
        let counts = Counts::default();
        let captured = counts.clone();
        drop(pull(move |_: &Yielder<()>| {
            let _captured = &captured;
            unreachable!("nobody has asked");
        }));
        assert_eq!(counts.dropped(), 1);
    });
}

fn values_that_nobody_asks_for_are_dropped() {
    run(|| {
        let (counts, after) = (Counts::default(), Counts::default());
        let mut values = pull({
            let (counts, after) = (counts.clone(), after.clone());
            move |out| {
                // Its destructor yields while the generator is being stopped.
                let _yields = OnDrop(|| out.yield_(counts.clone()));
                let stopped = catch_unwind(AssertUnwindSafe(|| out.yield_(counts.clone())));
                assert!(stopped.is_err());
                drop(after);
                out.yield_(counts.clone());
                unreachable!("it was stopped");
            }
        });
        drop(values.next().unwrap());
        assert_eq!((counts.dropped(), after.dropped()), (1, 0));
        drop(values);
        // The one that was taken, the two that were not, and what the closure had.
        assert_eq!((counts.dropped(), after.dropped()), (4, 1));
    });
}

fn a_panic_goes_on_in_next() {
    run(|| {
        let mut values = pull(|out| {
            out.yield_(1);
            panic!("after the first");
        });
        assert_eq!(values.next(), Some(1));
        assert_eq!(panics(|| values.next()), "after the first");
        assert_eq!([values.next(), values.next()], [None, None]);
        assert!(!thread::panicking());
    });
}

fn a_panic_of_a_stopped_generator_goes_on_in_the_drop() {
    run(|| {
        let failing = || {
            let mut values = pull(|out| {
                let _panics = OnDrop(|| {
                    // A second panic would abort; this one is over when the destructor is.
                    assert_eq!(panics(|| panic!("caught")), "caught");
                });
                if catch_unwind(AssertUnwindSafe(|| out.yield_(1))).is_err() {
                    panic!("while it was stopped");
                }
            });
            values.next();
            values
        };
        let values = failing();
        assert_eq!(panics(|| drop(values)), "while it was stopped");
        // Whoever is panicking already goes on with that.
        let values = failing();
        let message = panics(|| {
            let _values = values;
            panic!("the caller");
        });
        assert_eq!(message, "the caller");
    });
}

fn goexit_ends_who_has_asked() {
    run(|| {
        let counts = Counts::default();
        let mine = counts.clone();
        let asks = go(move || {
            let _mine = mine;
            pull(|_: &Yielder<()>| goexit()).next();
        });
        assert!(asks.join().unwrap_err().is_goexit());
        assert_eq!(counts.dropped(), 1);
    });
}

fn generators_use_generators() {
    /// Those that `p` doesn't divide.
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
        // The last owns the one before, and so on.
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
                    for _ in 0..1000 {
                        let mut values = rx.recv().unwrap();
                        let expected = seen.fetch_add(1, Ordering::Relaxed);
                        assert_eq!(values.next(), Some(expected));
                        tx.send(values).unwrap();
                    }
                });
            }
        });
        assert_eq!(rx.recv().unwrap().next(), Some(8000));
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
        go(move || (0..1000).for_each(|i| tx.send(i).unwrap()));
        let beside = go(move || {
            for _ in 0..1000 {
                let held = lock.lock();
                yield_now();
                drop(held);
            }
            lock
        });
        assert_eq!(values.sum::<u64>(), 999_000);
        assert_eq!(*beside.join().unwrap().lock(), 499_500);
    });
}

fn generators_in_selects() {
    run(|| {
        let (tx_a, a) = bounded(0);
        let (tx_b, b) = bounded(2);
        for (tx, step) in [(&tx_a, 1), (&tx_b, 1_000_000)] {
            let tx = tx.clone();
            go(move || numbers().take(1000).for_each(|i| tx.send(i * step).unwrap()));
        }
        let both = pull(move |out| {
            for _ in 0..2000 {
                select! {
                    recv(a) -> value => out.yield_(value.unwrap()),
                    recv(b) -> value => out.yield_(value.unwrap()),
                }
            }
        });
        assert_eq!(both.sum::<u64>(), 499_500 * 1_000_001);
    });
}

fn many_at_once() {
    run(|| {
        scope(|s| {
            for k in 0..8 {
                s.go(move || {
                    for n in 0..500 {
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
                for _ in 0..200 {
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
            for _ in 0..200 {
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

fn a_panic_is_nobody_elses() {
    run(|| {
        // The generator yields while it unwinds.
        let mut values = pull(|out| {
            let _yields = OnDrop(|| {
                for i in 0..10 {
                    assert!(thread::panicking());
                    out.yield_(i);
                }
            });
            resume_unwind(Box::new("its own"));
        });
        for i in 0..10 {
            assert_eq!(values.next(), Some(i));
            assert!(!thread::panicking());
        }
        assert_eq!(panics(|| values.next()), "its own");
        // Who asks does.
        let mut calm = pull(|out| {
            let _calm = OnDrop(|| out.yield_(false));
            loop {
                out.yield_(!thread::panicking());
            }
        });
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let _asks = OnDrop(|| {
                assert!(thread::panicking());
                assert_eq!(calm.next(), Some(true));
                assert!(thread::panicking());
            });
            resume_unwind(Box::new("the caller's"));
        }));
        assert_eq!(text(&*unwound.unwrap_err()), "the caller's");
        assert_eq!(calm.next(), Some(true));
    });
}

fn generators_that_are_dropped_by_unwinding() {
    run(|| {
        fn nested(depth: usize, counts: &Counts) -> Pull<usize> {
            let counts = counts.clone();
            pull(move |out| {
                let _counts = &counts;
                let mut inner = (depth > 0).then(|| nested(depth - 1, &counts));
                loop {
                    out.yield_(inner.as_mut().map_or(0, |inner| inner.next().unwrap() + 1));
                }
            })
        }
        let counts = Counts::default();
        for _ in 0..20 {
            let mut values = nested(5, &counts);
            assert_eq!((values.next(), values.next()), (Some(5), Some(5)));
        }
        assert_eq!(counts.dropped(), 20 * 6);
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

fn on_g0_it_is_dropped_later() {
    run(|| {
        let counts = Counts::default();
        let captured = counts.clone();
        let values = pull(move |_: &Yielder<()>| drop(captured));
        // SAFETY: nothing in there parks.
        unsafe { proc::systemstack(|| drop(values)) };
        wait_until(|| counts.dropped() == 1);
    });
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
