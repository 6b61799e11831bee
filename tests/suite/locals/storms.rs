//! Many short-lived goroutines, and many that lose their P's at any point.
//!
//! `STRESS_LIVES` and `STRESS_SECONDS` make the storms longer.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::hint::black_box;
use std::io::Write as _;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use gosched::time::sleep;
use gosched::{Builder, run, scope, yield_now};

use super::moves;
use crate::detach::detachments;
use crate::harness::goroutines::wait_until;
use crate::harness::rng::{Rng, number};
use crate::harness::{Test, memory, rounds, tests};

tests! {
    lives
    stopped_anywhere
}

/// The number of simultaneous goroutines.
const AT_ONCE: usize = 100;

/// The number of measurements of the memory.
const PARTS: usize = 10;

/// A leak is at least this number of bytes for each goroutine: the smallest part of a goroutine
/// takes more.
const LEAK: usize = 100;

/// The number of destructors that have run.
static DROPPED: AtomicUsize = AtomicUsize::new(0);

struct Memory(Vec<u8>);

impl Drop for Memory {
    fn drop(&mut self) {
        assert!(self.0.iter().all(|&byte| byte == self.0.len() as u8));
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

thread_local! {
    static FIRST: RefCell<Option<Memory>> = const { RefCell::new(None) };
    static SECOND: RefCell<Vec<Memory>> = const { RefCell::new(Vec::new()) };
}

fn memory(rng: &mut Rng) -> Memory {
    let len = 1 + rng.below(2_000);
    Memory(vec![len as u8; len])
}

/// Leaves two values for destructors, and frees memory that another goroutine has allocated.
fn live(rng: &mut Rng) {
    static HANDED_ON: Mutex<Vec<Memory>> = Mutex::new(Vec::new());
    FIRST.with_borrow_mut(|first| assert!(first.replace(memory(rng)).is_none(), "another one's"));
    let mine = memory(rng);
    let others = {
        let mut handed_on = HANDED_ON.lock().unwrap();
        handed_on.push(mine);
        let n = rng.below(handed_on.len());
        handed_on.swap_remove(n)
    };
    if rng.below(4) == 0 {
        yield_now();
    }
    SECOND.with_borrow_mut(|second| second.push(others));
}

fn lives(test: Test) {
    let process = test.process(|| {
        let mut rng = Rng::seeded();
        let lives = number("STRESS_LIVES").map_or(rounds(100_000), |lives| lives as usize);
        run(|| {
            let mut round = || {
                scope(|s| {
                    for _ in 0..AT_ONCE {
                        let mut rng = rng.fork();
                        Builder::new().own_locals().go_scoped(s, move || live(&mut rng)).unwrap();
                    }
                });
            };
            let rounds = lives / AT_ONCE / PARTS;
            let mut held = [0; PARTS];
            for held in &mut held {
                (0..rounds).for_each(|_| round());
                *held = memory::resident() / 1024;
            }
            eprintln!("{lives} lives; KiB after each tenth of them: {held:?}");
            assert_eq!(DROPPED.load(Ordering::Relaxed), rounds * PARTS * AT_ONCE * 2);
            // An allocator, or an emulator, may hold more memory at times. A leak shows in each
            // part.
            let least = held[PARTS / 2 - 1..].windows(2).map(|two| two[1].saturating_sub(two[0])).min();
            assert!(least.unwrap() < rounds * AT_ONCE * LEAK / 1024, "a life keeps {LEAK} bytes: {held:?}");
        });
    });
    let ended = process.end();
    ended.with("exit status: 0");
    eprint!("{}", ended.stderr);
}

thread_local! {
    static NUMBERS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Works for a while with thread-locals and locks.
fn work(rng: &mut Rng, sink: &File) {
    let n = rng.below(1_000);
    match rng.below(6) {
        0 => {
            let blocks: Vec<Vec<usize>> = (0..20).map(|i| vec![n + i; 1 + rng.below(300)]).collect();
            assert!(blocks.iter().enumerate().all(|(i, block)| block.iter().all(|&word| word == n + i)));
        }
        1 => {
            let mut text = String::new();
            (0..50).for_each(|i| write!(text, "{i:>width$} {:?};", n as f64 / 7.0, width = n % 30).unwrap());
            assert_eq!(text.matches(';').count(), 50);
        }
        2 => {
            // Each map has keys of its own, from a thread-local.
            let map: HashMap<usize, String> = (0..50).map(|i| (i * n, i.to_string())).collect();
            assert!((0..50).all(|i| n == 0 || map[&(i * n)] == i.to_string()));
        }
        3 => {
            let caught = catch_unwind(|| {
                let _dropped = black_box(vec![n; 10]);
                resume_unwind(Box::new(n))
            });
            assert_eq!(*caught.unwrap_err().downcast::<usize>().unwrap(), n);
        }
        4 => (0..5).for_each(|_| writeln!(&*sink, "{n}").unwrap()),
        _ => {
            NUMBERS.with_borrow_mut(|numbers| numbers.extend(0..n));
            let sum = NUMBERS.with_borrow(|numbers| numbers.iter().sum::<usize>());
            assert_eq!(sum, n * n.saturating_sub(1) / 2);
            NUMBERS.with_borrow_mut(Vec::clear);
        }
    }
    if rng.below(10) == 0 {
        moves();
    }
}

/// How long the goroutines work by default.
const A_WHILE: Duration = Duration::from_millis(200);

fn stopped_anywhere(test: Test) {
    for procs in ["1", "2", "8"] {
        let process = test.process(|| {
            static OVER: AtomicBool = AtomicBool::new(false);
            let mut rng = Rng::seeded();
            let time = number("STRESS_SECONDS").map_or(A_WHILE, Duration::from_secs);
            let (done, sink) = (AtomicU64::new(0), File::create("/dev/null").unwrap());
            run(|| {
                scope(|s| {
                    for _ in 0..30 {
                        let (mut rng, done, sink) = (rng.fork(), &done, &sink);
                        let works = move || {
                            while !OVER.load(Ordering::Relaxed) {
                                work(&mut rng, sink);
                                done.fetch_add(1, Ordering::Relaxed);
                            }
                        };
                        Builder::new().own_locals().go_scoped(s, works).unwrap();
                    }
                    sleep(time);
                    wait_until(|| done.load(Ordering::Relaxed) > 0);
                    OVER.store(true, Ordering::Relaxed);
                });
            });
            let done = done.into_inner();
            eprintln!("{done} pieces of work, {} detachments", detachments());
        });
        let process = process.env("GOMAXPROCS", procs).env("GODEBUG", "detach=2");
        let ended = process.end();
        ended.with("exit status: 0");
        eprint!("{}", ended.stderr);
    }
}
