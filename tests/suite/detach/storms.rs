//! Many goroutines want the locks of std and libc. A goroutine that holds a lock when it loses its
//! P gets its turn.

use std::collections::HashMap;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, RwLock};
use std::thread;
use std::time::Instant;

use gosched::{run, scope, yield_now};

use super::ends_well;
use crate::harness::polled::MS;
use crate::harness::rng::Rng;
use crate::harness::{Test, Tests, rounds, tests};

tests! {
    on_malloc
    on_malloc_while_threads_are_made
    on_stds_locks
    on_stdout
    on_a_lock_when_few_may_lose_their_p
}

/// The numbers of goroutines and of threads in a storm.
const GOROUTINES: usize = 50;
const THREADS: usize = 3;

/// Calls `f` on goroutines and on threads, with numbers from 0 on, and with several settings.
fn storm(test: Test, f: fn(usize)) {
    for (procs, godebug) in [("1", ""), ("2", ""), ("1", "detach=2"), ("2", "detach=2")] {
        ends_well(test, procs, godebug, || everywhere(f));
    }
}

fn everywhere(f: fn(usize)) {
    let threads: Vec<_> = (0..THREADS).map(|i| thread::spawn(move || f(GOROUTINES + i))).collect();
    scope(|s| {
        for i in 0..GOROUTINES {
            s.go(move || f(i));
        }
    });
    gosched::blocking(|| threads.into_iter().for_each(|thread| thread.join().unwrap()));
}

/// Each goroutine and thread fills blocks of all sizes with a pattern of its own. (All threads
/// share one arena.)
fn on_malloc(test: Test) {
    storm(test, |number| {
        let mut rng = Rng::new(number as u64);
        let mut blocks: Vec<Vec<usize>> = Vec::new();
        for round in 0..rounds(20_000) {
            if blocks.len() < 20 {
                let len = 1 << rng.below(if round % 100 == 0 { 15 } else { 8 });
                blocks.push(vec![number << 32 | len; len]);
            } else {
                let block = blocks.swap_remove(rng.below(blocks.len()));
                assert!(block.iter().all(|&word| word == number << 32 | block.len()));
            }
        }
    });
}

/// Each goroutine waits for all others in malloc, and so needs a thread of its own. The time grows
/// with the square of their number.
fn on_malloc_while_threads_are_made(test: Test) {
    let goroutines = if Tests::said() == Tests::All { GOROUTINES } else { 8 };
    ends_well(test, "1", "", || {
        let all: Vec<AtomicBool> = (0..goroutines).map(|_| AtomicBool::new(false)).collect();
        scope(|s| {
            for (seed, begun) in all.iter().enumerate() {
                let all = &all;
                s.go(move || {
                    begun.store(true, Ordering::Relaxed);
                    let (mut rng, mut blocks) = (Rng::new(seed as u64), [const { Vec::new() }; 20]);
                    while all.iter().any(|begun| !begun.load(Ordering::Relaxed)) {
                        // The block is too large for those that a thread has at hand without the
                        // lock.
                        blocks[rng.below(20)] =
                            black_box(Vec::<u8>::with_capacity(2_000 + rng.below(20_000)));
                    }
                });
            }
        });
    });
}

/// One goroutine holds the lock and computes for longer than its slice. The others block their
/// threads for the lock. Soon more goroutines are detached than may compute so.
fn on_a_lock_when_few_may_lose_their_p(test: Test) {
    static LOCK: Mutex<usize> = Mutex::new(0);
    for max in [1, 5, 2_000] {
        ends_well(test, "1", "", move || {
            gosched::set_max_detached(max);
            scope(|s| {
                for _ in 0..300 {
                    s.go(|| {
                        let mut number = LOCK.lock().unwrap();
                        if *number == 0 {
                            let begun = Instant::now();
                            while begun.elapsed() < 100 * MS {
                                black_box(());
                            }
                        }
                        *number += 1;
                    });
                }
            });
            assert_eq!(*LOCK.lock().unwrap(), 300);
        });
    }
}

fn on_stds_locks(test: Test) {
    storm(test, |number| {
        static MUTEX: Mutex<usize> = Mutex::new(0);
        static PAIR: RwLock<[usize; 2]> = RwLock::new([0; 2]);
        static CONDVAR: Condvar = Condvar::new();
        static TURNS: Mutex<usize> = Mutex::new(0);
        static DONE: AtomicUsize = AtomicUsize::new(0);
        const ALL: usize = GOROUTINES + THREADS;
        let each = rounds(3_000);
        for i in 0..each {
            *MUTEX.lock().unwrap() += 1;
            if (i + number).is_multiple_of(4) {
                PAIR.write().unwrap().iter_mut().for_each(|n| *n = black_box(*n + 1));
            } else {
                let pair = PAIR.read().unwrap();
                assert_eq!(black_box(pair[0]), pair[1]);
            }
        }
        // All goroutines and threads meet.
        for round in 1..=5 {
            let mut turns = TURNS.lock().unwrap();
            *turns += 1;
            CONDVAR.notify_all();
            drop(CONDVAR.wait_while(turns, |turns| *turns < round * ALL).unwrap());
        }
        if DONE.fetch_add(1, Ordering::Relaxed) + 1 == ALL {
            assert_eq!(*MUTEX.lock().unwrap(), ALL * each);
        }
    });
}

/// The number of lines that each goroutine prints.
const LINES: usize = 100;

/// The reader of the lines is slow.
fn on_stdout(test: Test) {
    for (procs, godebug) in [("1", ""), ("2", ""), ("1", "detach=2"), ("2", "detach=2")] {
        let process = test.process(|| {
            run(|| {
                everywhere(|number| {
                    for line in 0..LINES {
                        println!("line {line} of {number}: {}", "-".repeat(line % 100));
                        if line % 50 == 0 && number < GOROUTINES {
                            yield_now();
                        }
                    }
                });
            });
        });
        let mut child = process.env("GOMAXPROCS", procs).env("GODEBUG", godebug).start();
        let mut next = HashMap::new();
        for (read, text) in BufReader::new(child.stdout.take().unwrap()).lines().enumerate() {
            let text = text.unwrap();
            let words: Vec<&str> = text.splitn(5, ' ').collect();
            let [_, line, _, number, dashes] = words[..] else { panic!("not one of the lines: {text:?}") };
            let line: usize = line.parse().unwrap();
            assert_eq!((words[0], dashes.len()), ("line", line % 100), "{text:?}");
            // Each goroutine's lines come in order.
            let expected = next.entry(number.to_owned()).or_insert(0);
            assert_eq!(line, *expected, "{text:?}");
            *expected += 1;
            if read.is_multiple_of(500) {
                thread::sleep(5 * MS);
            }
        }
        assert_eq!(child.wait().unwrap().code(), Some(0), "{procs} {godebug}");
        assert_eq!(next.len(), GOROUTINES + THREADS);
        assert!(next.values().all(|&lines| lines == LINES), "{next:?}");
    }
}
