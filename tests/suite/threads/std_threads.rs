//! `std::thread`, where threads are goroutines.

use std::cell::Cell;
use std::panic::panic_any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread::{self, Builder, available_parallelism};
use std::time::Duration;

use gosched::explore::{Explorer, FailureKind};
use gosched::{blocking, dump_goroutines, make_threads_goroutines};

use super::{is_goroutine, live_with_one_p_and_several, run_live};
use crate::detach::ends::threads;
use crate::harness::goroutines::wait_until;
use crate::harness::polled::HOUR;
use crate::harness::{Test, tests};

tests! {
    a_thread_returns_its_result
    a_panic_is_the_threads_own
    many_wait_without_threads
    threads_have_ids_and_names
    a_name_is_in_the_report
    a_thread_is_parked_and_unparked
    a_thread_is_finished
    scoped_threads
    locals_are_the_threads_own
    locals_end_before_the_join_returns
    a_local_that_makes_a_thread_as_it_ends
    a_thread_that_nobody_joins
    a_join_that_blocks_its_thread
    a_thread_has_the_stack_that_it_asks_for
    a_size_that_no_goroutine_can_have
    parallelism_is_as_before
    an_exploration_has_threads
    an_exploration_finds_a_deadlock_of_threads
}

/// The number of threads that wait.
const MANY: usize = 2_000;

fn a_thread_returns_its_result(test: Test) {
    live_with_one_p_and_several(test, || {
        let handles: Vec<_> = (0..100_u64)
            .map(|i| {
                thread::spawn(move || {
                    assert!(is_goroutine());
                    thread::yield_now();
                    i * i
                })
            })
            .collect();
        let sum: u64 = handles.into_iter().map(|handle| handle.join().unwrap()).sum();
        assert_eq!(sum, (0..100).map(|i| i * i).sum());
    });
}

fn a_panic_is_the_threads_own() {
    run_live(|| {
        let panics = thread::spawn(|| panic_any(404_u16));
        assert_eq!(panics.join().unwrap_err().downcast_ref(), Some(&404_u16));
        assert!(!thread::panicking());
    });
}

fn many_wait_without_threads(test: Test) {
    for procs in ["1", "4"] {
        let process = test.process(|| {
            run_live(|| {
                let waiting = Arc::new(AtomicUsize::new(0));
                let wait = |_| {
                    let (tx, rx) = mpsc::channel::<usize>();
                    let waiting = waiting.clone();
                    let waits = thread::spawn(move || {
                        waiting.fetch_add(1, Ordering::Relaxed);
                        rx.recv().unwrap()
                    });
                    (tx, waits)
                };
                let all: Vec<_> = (0..MANY).map(wait).collect();
                wait_until(|| waiting.load(Ordering::Relaxed) == MANY);
                assert!(threads() < MANY / 4, "{} threads", threads());
                all.iter().enumerate().for_each(|(i, (tx, _))| tx.send(i).unwrap());
                let sum: usize = all.into_iter().map(|(_, waits)| waits.join().unwrap()).sum();
                assert_eq!(sum, MANY * (MANY - 1) / 2);
            });
        });
        process.env("GOMAXPROCS", procs).env("GODEBUG", "detach=0").end().with("exit status: 0");
    }
}

fn threads_have_ids_and_names() {
    run_live(|| {
        let of = |builder: Builder| {
            let current = || (thread::current().id(), thread::current().name().map(str::to_owned));
            builder.spawn(current).unwrap().join().unwrap()
        };
        let (first, none) = of(Builder::new());
        let (second, name) = of(Builder::new().name("worker".to_owned()));
        assert!(first != second && first != thread::current().id());
        assert_eq!((none, name.as_deref()), (None, Some("worker")));
    });
}

fn a_name_is_in_the_report() {
    run_live(|| {
        let (tx, rx) = mpsc::channel::<()>();
        let waits = Builder::new().name("waits for it".to_owned()).spawn(move || rx.recv()).unwrap();
        wait_until(|| {
            let mut report = Vec::new();
            dump_goroutines(&mut report).unwrap();
            String::from_utf8_lossy(&report).contains(r#""waits for it""#)
        });
        drop(tx);
        waits.join().unwrap().unwrap_err();
    });
}

fn a_thread_is_parked_and_unparked(test: Test) {
    live_with_one_p_and_several(test, || {
        let ready = Arc::new(AtomicBool::new(false));
        let flag = ready.clone();
        let waits = thread::spawn(move || {
            while !flag.load(Ordering::Relaxed) {
                thread::park();
            }
        });
        ready.store(true, Ordering::Relaxed);
        waits.thread().unpark();
        waits.join().unwrap();
    });
}

fn a_thread_is_finished(test: Test) {
    live_with_one_p_and_several(test, || {
        let (tx, rx) = mpsc::channel::<()>();
        let waits = thread::spawn(move || rx.recv());
        assert!(!waits.is_finished());
        drop(tx);
        wait_until(|| waits.is_finished());
        waits.join().unwrap().unwrap_err();
    });
}

fn scoped_threads(test: Test) {
    live_with_one_p_and_several(test, || {
        let mut squares = [0; 200];
        let all = Barrier::new(squares.len());
        thread::scope(|s| {
            for (i, square) in squares.iter_mut().enumerate() {
                let all = &all;
                s.spawn(move || {
                    all.wait();
                    *square = i * i;
                });
            }
        });
        assert!(squares.iter().enumerate().all(|(i, square)| *square == i * i));
    });
}

fn locals_are_the_threads_own(test: Test) {
    thread_local! {
        static NUMBER: Cell<usize> = const { Cell::new(7) };
    }

    live_with_one_p_and_several(test, || {
        let all = Arc::new(Barrier::new(50));
        let count = |i| {
            let all = all.clone();
            thread::spawn(move || {
                assert_eq!(NUMBER.replace(i), 7);
                all.wait();
                assert_eq!(NUMBER.get(), i);
            })
        };
        let handles: Vec<_> = (0..50).map(count).collect();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        assert_eq!(NUMBER.get(), 7);
    });
}

/// Calls a function when it is dropped.
struct AtEnd(fn());

impl Drop for AtEnd {
    fn drop(&mut self) {
        self.0();
    }
}

fn locals_end_before_the_join_returns(test: Test) {
    static ENDED: AtomicUsize = AtomicUsize::new(0);

    thread_local! {
        static LOCAL: AtEnd = const { AtEnd(|| {
            thread::sleep(Duration::from_micros(1));
            ENDED.fetch_add(1, Ordering::Relaxed);
        }) };
    }

    live_with_one_p_and_several(test, || {
        for i in 1..=100 {
            thread::spawn(|| LOCAL.with(|_| ())).join().unwrap();
            assert_eq!(ENDED.load(Ordering::Relaxed), i);
        }
    });
}

fn a_local_that_makes_a_thread_as_it_ends(test: Test) {
    static SAID: Mutex<Vec<&str>> = Mutex::new(Vec::new());

    thread_local! {
        static LOCAL: AtEnd = const { AtEnd(|| {
            thread::spawn(|| SAID.lock().unwrap().push("inner")).join().unwrap();
            SAID.lock().unwrap().push("outer");
        }) };
    }

    live_with_one_p_and_several(test, || {
        thread::spawn(|| LOCAL.with(|_| ())).join().unwrap();
        assert_eq!(*SAID.lock().unwrap(), ["inner", "outer"]);
    });
}

fn a_thread_that_nobody_joins(test: Test) {
    live_with_one_p_and_several(test, || {
        let (tx, rx) = mpsc::channel();
        for i in 0..100_u64 {
            let tx = tx.clone();
            drop(thread::spawn(move || tx.send(i).unwrap()));
        }
        drop(tx);
        assert_eq!(rx.iter().sum::<u64>(), 99 * 100 / 2);
    });
}

fn a_join_that_blocks_its_thread() {
    run_live(|| {
        let (tx, rx) = mpsc::channel();
        let waits = thread::spawn(move || rx.recv());
        let inner = thread::spawn(move || blocking(|| waits.join().unwrap()));
        tx.send(5).unwrap();
        assert_eq!(inner.join().unwrap(), Ok(5));
    });
    // A thread of the system joins a goroutine.
    let (tx, rx) = mpsc::channel();
    let waits = thread::spawn(move || rx.recv());
    tx.send(6).unwrap();
    assert_eq!(waits.join().unwrap(), Ok(6));
}

fn a_thread_has_the_stack_that_it_asks_for() {
    fn depth(n: u32) -> u32 {
        let frame = std::hint::black_box([n; 256]);
        if n == 0 { frame[0] } else { 1 + std::hint::black_box(depth(n - 1)) }
    }

    run_live(|| {
        // More than the default of std, and of a goroutine.
        let deep = Builder::new().stack_size(64 << 20).spawn(|| depth(10_000)).unwrap();
        assert_eq!(deep.join().unwrap(), 10_000);
    });
}

fn a_size_that_no_goroutine_can_have() {
    run_live(|| {
        let large = Builder::new().stack_size(2 << 30).spawn(is_goroutine).unwrap();
        assert!(!large.join().unwrap());
    });
}

fn parallelism_is_as_before() {
    let before = available_parallelism().unwrap();
    run_live(|| {
        let inner = thread::spawn(|| available_parallelism().unwrap());
        assert_eq!((inner.join().unwrap(), available_parallelism().unwrap()), (before, before));
    });
}

fn an_exploration_has_threads() {
    make_threads_goroutines().unwrap();
    let explored = Explorer::new().iterations(20).check(|| {
        let (tx, rx) = mpsc::channel();
        let sends = thread::spawn(move || {
            thread::sleep(HOUR);
            tx.send(1).unwrap();
        });
        assert_eq!(rx.recv(), Ok(1));
        sends.join().unwrap();
    });
    explored.unwrap();
}

fn an_exploration_finds_a_deadlock_of_threads() {
    make_threads_goroutines().unwrap();
    let failure = Explorer::new()
        .check(|| {
            let locks = Arc::new((Mutex::new(()), Mutex::new(())));
            let other = locks.clone();
            let reverse = thread::spawn(move || {
                let _second = other.1.lock().unwrap();
                thread::yield_now();
                let _first = other.0.lock().unwrap();
            });
            let first = locks.0.lock().unwrap();
            thread::yield_now();
            drop(locks.1.lock().unwrap());
            drop(first);
            reverse.join().unwrap();
        })
        .unwrap_err();
    assert_eq!(failure.kind(), FailureKind::Deadlock);
}
