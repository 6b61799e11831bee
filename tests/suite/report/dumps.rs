//! Dumps of many goroutines, and the effect of settings on a dump.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::chan::{Receiver, bounded};
use gosched::sync::Mutex;
use gosched::{Builder, Traceback, blocking, go, morestack_check, proc, run, set_traceback, yield_now};

use super::traceback::{GO_ON, assert_part, copying, dump, dump_with_p, outer};
use crate::harness::rng::Rng;
use crate::harness::{Test, tests};

tests! {
    level
    level_of_the_environment
    ancestors
    makers_of_the_raw_layer
    #[slow] ten_thousand
    #[slow] while_others_run
}

fn level(test: Test) {
    let process = test.process(|| {
        run(|| {
            let gosched = |dump: &str| dump.lines().any(|line| line.starts_with("gosched_"));
            assert!(!gosched(&dump()));
            set_traceback(Traceback::System);
            assert!(gosched(&dump()));
            set_traceback(Traceback::Single);
            assert!(!gosched(&dump()));
        });
    });
    process.end().with("exit status: 0");
}

fn level_of_the_environment(test: Test) {
    let process = test.process(|| {
        run(|| {
            set_traceback(Traceback::Single);
            assert!(dump().contains("gosched_goexit"), "not less than the environment says");
        });
    });
    process.env("GOTRACEBACK", "system").end().with("exit status: 0");
}

/// Makes a goroutine that makes another, and so on.
#[inline(never)]
fn makes(depth: usize, rx: Receiver<()>) {
    if depth == 0 {
        return outer(&rx);
    }
    let made = go(move || makes(depth - 1, rx));
    drop(black_box(made));
}

fn ancestors(test: Test) {
    let process = test.process(|| {
        run(|| {
            let (tx, rx) = bounded::<()>(0);
            go(move || makes(3, rx)).join().unwrap();
            let found = loop {
                let dump = dump();
                if let Some(found) = dump.split("\n\n").find(|part| part.contains("traceback::inner(...)")) {
                    break found.to_owned();
                }
                yield_now();
            };
            let (own, origin) = found.split_once("[originating from goroutine ").expect("it has ancestors");
            assert!(own.contains("created at ") && origin.contains("dumps::makes(...)"), "{found}");
            assert_eq!(found.matches("[originating from goroutine ").count(), 2, "{found}");
            drop(tx);
        });
    });
    process.env("GODEBUG", "tracebackancestors=2").end().with("exit status: 0");
}

fn makers_of_the_raw_layer(test: Test) {
    let process = test.process(|| {
        run(|| {
            #[inline(never)]
            fn makes_a_raw_one() {
                // SAFETY: it fits its stack.
                unsafe { proc::newproc(Some(copying), ptr::null_mut()) };
                black_box(());
            }
            makes_a_raw_one();
            let dump = dump_with_p();
            let found =
                dump.split("\n\n").find(|part| part.contains(" [runnable]:")).expect("one is runnable");
            let (_, made) = found.split_once("created by ").expect("somebody has made it");
            assert!(made.lines().next().is_some_and(|line| line.ends_with(" in goroutine 1")), "{found}");
            assert!(made.contains("makes_a_raw_one"), "{found}");
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=0").end().with("exit status: 0");
}

/// Ways to wait.
struct Ways {
    rx: Receiver<()>,
    lock: Mutex<()>,
}

macro_rules! ways {
    ($($name:ident $state:literal |$ways:ident| $wait:expr;)*) => {
        $(
            #[inline(never)]
            fn $name($ways: &Ways) {
                black_box($wait);
            }
        )*
        const WAYS: [(&str, &str, fn(&Ways)); 4] = [$((concat!("dumps::", stringify!($name)), $state, $name)),*];
    };
}

ways! {
    receives "chan receive" |ways| ways.rx.recv().is_ok();
    locks "sync.Mutex.Lock" |ways| drop(ways.lock.lock());
    selects "select" |ways| gosched::select! { recv(ways.rx) -> _ => {}, recv(gosched::chan::never::<()>()) -> _ => {} };
    sleeps "sleep" |_ways| gosched::time::sleep(Duration::from_secs(3600));
}

fn ten_thousand(test: Test) {
    const N: usize = if cfg!(target_arch = "aarch64") { 1000 } else { 10_000 };
    let process = test.process(|| {
        run(|| {
            let (_tx, rx) = bounded::<()>(0);
            let ways: &'static Ways = Box::leak(Box::new(Ways { rx, lock: Mutex::new(()) }));
            let _held = ways.lock.lock();
            for i in 0..N {
                let (name, _, wait) = WAYS[i % WAYS.len()];
                Builder::new().name(name).go(move || wait(ways)).unwrap();
            }
            // Others run meanwhile.
            for _ in 0..2 {
                go(|| {
                    while !GO_ON.load(Ordering::Relaxed) {
                        yield_now()
                    }
                });
            }
            let header = |name, state| format!(" \"{name}\" [{state}]:\n");
            let all_wait = |dump: String| {
                let waits = |(name, state, _)| dump.matches(&header(name, state)).count() == N / WAYS.len();
                WAYS.into_iter().all(waits)
            };
            while !all_wait(dump()) {
                yield_now();
            }
            let begun = std::time::Instant::now();
            let dump = dump();
            eprintln!("{N} goroutines in {:?}", begun.elapsed());
            for (name, state, _) in WAYS {
                let header = header(name, state);
                let parts: Vec<&str> = dump.split("\n\n").filter(|part| part.contains(&header)).collect();
                assert_eq!(parts.len(), N / WAYS.len(), "{name} is there");
                parts.iter().for_each(|part| assert_part(part, state, &[name]));
            }
            GO_ON.store(true, Ordering::Relaxed);
        });
    });
    let ended = process.env("GOMAXPROCS", "2").end();
    eprint!("{}", ended.with("exit status: 0").stderr);
}

/// Parks, grows, and ends, as long as there are dumps.
fn lives(mut rng: Rng, rounds: &'static AtomicUsize, depth: usize) {
    while rounds.load(Ordering::Relaxed) > 0 {
        match rng.below(6) {
            0 if depth < 3 => {
                let rng = rng.fork();
                go(move || lives(rng, rounds, depth + 1));
                return;
            }
            1 => gosched::time::sleep(Duration::from_micros(rng.below(200) as u64)),
            2 => {
                let (tx, rx) = bounded(0);
                go(move || tx.send(()));
                rx.recv().unwrap();
            }
            3 => blocking(|| thread::sleep(Duration::from_micros(50))),
            4 => _ = grow(rng.below(30)),
            _ => yield_now(),
        }
    }
}

#[inline(never)]
fn grow(depth: usize) -> usize {
    let room = black_box([depth; 64]);
    if depth == 0 { 0 } else { grow(depth - 1) + black_box(room)[0] }
}

/// Grows and shrinks a copying stack, and yields at its deepest.
unsafe extern "C" fn moves(rounds: *mut c_void) {
    fn down(depth: usize) {
        let room = black_box([depth; 20]);
        if depth > 0 {
            morestack_check!(1500, down, depth - 1);
        } else {
            // SAFETY: on a goroutine.
            unsafe { proc::gosched() };
        }
        black_box(&room);
    }
    // SAFETY: a static.
    while unsafe { &*rounds.cast::<AtomicUsize>() }.load(Ordering::Relaxed) > 0 {
        morestack_check!(1500, down, 40);
        // SAFETY: on a goroutine.
        unsafe { proc::gosched() };
    }
}

fn while_others_run(test: Test) {
    static ROUNDS: AtomicUsize = AtomicUsize::new(150);
    let process = test.process(|| {
        run(|| {
            let mut seeds = Rng::seeded();
            let hold: Vec<_> = (0..20)
                .map(|_| {
                    let rng = seeds.fork();
                    go(move || lives(rng, &ROUNDS, 0))
                })
                .collect();
            for _ in 0..5 {
                // SAFETY: it checks its stack and doesn't panic.
                unsafe { proc::newproc(Some(moves), ptr::from_ref(&ROUNDS).cast_mut().cast()) };
            }
            let looks = || {
                let dump = dump();
                assert!(dump.split("\n\n").all(|part| part.starts_with("goroutine ")), "{dump}");
                ROUNDS
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |rounds| rounds.checked_sub(1))
                    .is_ok()
            };
            // One dump is taken on a thread, and two on goroutines, which look at each other.
            let on_a_thread = thread::spawn(move || while looks() {});
            let other = go(move || {
                while looks() {
                    yield_now()
                }
            });
            while looks() {
                yield_now();
            }
            other.join().unwrap();
            blocking(|| on_a_thread.join().unwrap());
            hold.into_iter().for_each(|handle| handle.join().unwrap());
        });
    });
    process.env("GOMAXPROCS", "3").end().with("exit status: 0");
}
