//! The scheduler's metrics, by Go's names.

use std::ffi::c_void;
use std::hint::black_box;
use std::num::NonZero;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gosched::metrics::{self, Float64Histogram, Value};
use gosched::proc::{self, StwReason};
use gosched::sync::{Mutex, WaitGroup};
use gosched::time::sleep;
use gosched::{blocking, chan, go, morestack_check, run, scope, set_gomaxprocs, yield_now};

use crate::harness::goroutines::sleep_with_thread;
use crate::harness::{Test, tests};

tests! {
    names
    gos_names
    before_the_runtime_runs
    counts
    states
    made_goroutines
    threads
    latencies
    waits_for_mutexes
    pauses
    idle_processors
    idle_time_never_goes_back
    stacks
    preemptions
    detachments
}

fn in_process(test: Test, procs: usize, main: impl FnOnce() + Send) {
    let process = test.process(|| run(main));
    process.env("GOMAXPROCS", &procs.to_string()).end().with("exit status: 0");
}

fn count(name: &str) -> u64 {
    match metrics::read(name) {
        Some(Value::Uint64(count)) => count,
        other => panic!("{name}: {other:?}"),
    }
}

fn seconds(name: &str) -> f64 {
    match metrics::read(name) {
        Some(Value::Float64(seconds)) => seconds,
        other => panic!("{name}: {other:?}"),
    }
}

fn histogram(name: &str) -> Float64Histogram {
    match metrics::read(name) {
        Some(Value::Float64Histogram(histogram)) => histogram,
        other => panic!("{name}: {other:?}"),
    }
}

/// Returns how many times were counted.
fn times(name: &str) -> u64 {
    histogram(name).counts.iter().sum()
}

fn names(test: Test) {
    in_process(test, 1, || {
        assert!(metrics::all().is_sorted_by(|a, b| a.name < b.name));
        for metric in metrics::all() {
            assert!(!metric.description.is_empty());
            assert!(metrics::read(metric.name).is_some(), "{} isn't found by its name", metric.name);
            if let Value::Float64Histogram(Float64Histogram { counts, buckets }) = metric.read() {
                assert!(buckets.len() == counts.len() + 1 && buckets.is_sorted());
            }
        }
        assert_eq!(metrics::read("/sched/unknown:things"), None);
    });
}

/// For metrics that Go has, name, kind and whether it only grows are those of Go 1.27. The others
/// have a prefix.
fn gos_names(test: Test) {
    let process = test.process(|| {
        let mut gos = GOS.to_vec();
        for metric in metrics::all() {
            let kind = match metric.read() {
                Value::Uint64(_) => "Uint64",
                Value::Float64(_) => "Float64",
                Value::Float64Histogram(_) => "Float64Histogram",
                other => panic!("{}: {other:?}", metric.name),
            };
            let name = metric.name;
            match gos.extract_if(.., |(gos, ..)| *gos == name).next() {
                Some(found) => assert_eq!((name, kind, metric.cumulative), found),
                None => assert!(name.starts_with("/gosched/"), "Go has no {name}"),
            }
        }
        assert_eq!(gos, [], "not here");
    });
    process.end().with("exit status: 0");
}

/// The metrics of Go's `runtime/metrics/description.go` that this crate has.
const GOS: [(&str, &str, bool); 15] = [
    ("/cpu/classes/idle:cpu-seconds", "Float64", true),
    ("/sched/gomaxprocs:threads", "Uint64", false),
    ("/sched/goroutines-created:goroutines", "Uint64", true),
    ("/sched/goroutines/not-in-go:goroutines", "Uint64", false),
    ("/sched/goroutines/runnable:goroutines", "Uint64", false),
    ("/sched/goroutines/running:goroutines", "Uint64", false),
    ("/sched/goroutines/waiting:goroutines", "Uint64", false),
    ("/sched/goroutines:goroutines", "Uint64", false),
    ("/sched/latencies:seconds", "Float64Histogram", true),
    ("/sched/pauses/stopping/gc:seconds", "Float64Histogram", true),
    ("/sched/pauses/stopping/other:seconds", "Float64Histogram", true),
    ("/sched/pauses/total/gc:seconds", "Float64Histogram", true),
    ("/sched/pauses/total/other:seconds", "Float64Histogram", true),
    ("/sched/threads/total:threads", "Uint64", false),
    ("/sync/mutex/wait/total:seconds", "Float64", true),
];

fn before_the_runtime_runs(test: Test) {
    let process = test.process(|| {
        assert!(metrics::all().iter().all(|metric| metric.read() == metric.read()));
        assert_eq!(count("/sched/goroutines:goroutines"), 0);
    });
    process.end().with("exit status: 0");
}

fn counts(test: Test) {
    in_process(test, 3, || {
        assert_eq!(count("/sched/gomaxprocs:threads"), 3);
        let gate = WaitGroup::new();
        gate.add(1);
        scope(|s| {
            (0..10).for_each(|_| drop(s.go(|| gate.wait())));
            assert_eq!(count("/sched/goroutines:goroutines"), 11);
            gate.done();
        });
    });
}

/// With one P, goroutines that only yield are in a queue whenever main runs.
fn states(test: Test) {
    let process = test.process(|| {
        run(|| {
            let (gate, last) = (WaitGroup::new(), AtomicBool::new(false));
            let (tx, rx) = std::sync::mpsc::channel::<()>();
            gate.add(1);
            scope(|s| {
                let others = || {
                    let states = ["not-in-go", "runnable", "running", "waiting"];
                    states.map(|state| count(&format!("/sched/goroutines/{state}:goroutines")))
                };
                assert_eq!(others(), [0, 0, 1, 0]);
                (0..3).for_each(|_| drop(s.go(|| gate.wait())));
                (0..5).for_each(|_| {
                    s.go(|| {
                        while !last.load(Ordering::Relaxed) {
                            yield_now();
                        }
                    });
                });
                s.go(move || blocking(|| rx.recv()));
                while others() != [1, 5, 1, 3] {
                    yield_now();
                }
                assert_eq!(count("/sched/goroutines:goroutines"), 10);
                last.store(true, Ordering::Relaxed);
                drop(tx);
                gate.done();
            });
        })
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=0").end().with("exit status: 0");
}

/// Goroutines of P's that are gone, and of threads that aren't the runtime's, count too.
fn made_goroutines(test: Test) {
    in_process(test, 4, || {
        let made = || count("/sched/goroutines-created:goroutines");
        assert_eq!(made(), 1, "main");
        let make = |n: u64| {
            scope(|s| (0..n).for_each(|_| drop(s.go(yield_now))));
        };
        for round in 1..=20 {
            // The four of them, which yield until all have begun, have P's of their own as a rule.
            let begun = AtomicUsize::new(0);
            scope(|s| {
                for _ in 0..4 {
                    s.go(|| {
                        begun.fetch_add(1, Ordering::Relaxed);
                        while begun.load(Ordering::Relaxed) < 4 {
                            yield_now();
                        }
                        make(25);
                    });
                }
            });
            set_gomaxprocs(NonZero::<usize>::MIN);
            assert_eq!(made(), 1 + round * 104);
            set_gomaxprocs(NonZero::new(4).unwrap());
        }
        let foreign = thread::spawn(|| go(|| ()).join().unwrap());
        blocking(|| foreign.join().unwrap());
        assert_eq!(made(), 2 + 20 * 104);
    });
}

/// A thread that isn't the runtime's has an M while it waits, and isn't counted.
fn threads(test: Test) {
    in_process(test, 2, || {
        let waiting = || count("/sched/goroutines/waiting:goroutines");
        assert!((1..=proc::mcount() as u64).contains(&count("/sched/threads/total:threads")));
        let (tx, rx) = chan::bounded::<()>(0);
        let foreign = thread::spawn(move || rx.recv());
        while waiting() != 1 {
            yield_now();
        }
        // A thread may be made between two readings.
        while count("/sched/threads/total:threads") + 1 != proc::mcount() as u64 {
            yield_now();
        }
        drop(tx);
        let _ = blocking(|| foreign.join());
    });
}

/// On average one time in 128 is taken, whichever goroutine's it is.
fn latencies(test: Test) {
    const YIELDS: u64 = 128_000;
    let process = test.process(|| {
        run(|| {
            let before = times("/sched/latencies:seconds");
            scope(|s| {
                for _ in 0..4 {
                    s.go(|| (0..YIELDS / 4).for_each(|_| yield_now()));
                }
            });
            let taken = times("/sched/latencies:seconds") - before;
            assert!((YIELDS / 128 - 100..YIELDS / 128 + 100).contains(&taken), "{taken} of {YIELDS}");
        })
    });
    // There is one P, because a yield of a goroutine that is alone on its P isn't counted. A
    // goroutine that loses its P waits for one more often than it yields.
    process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=0").end().with("exit status: 0");
}

fn waits_for_mutexes(test: Test) {
    const TIMES: u64 = 300;
    in_process(test, 2, || {
        assert_eq!(seconds("/sync/mutex/wait/total:seconds"), 0.0);
        let mutex = Mutex::new(());
        // Waits until one of these waits is among the recorded times.
        while seconds("/sync/mutex/wait/total:seconds") == 0.0 {
            scope(|s| {
                for _ in 0..8 {
                    s.go(|| {
                        for _ in 0..TIMES / 8 {
                            let _guard = mutex.lock();
                            sleep(Duration::from_micros(100));
                        }
                    });
                }
            });
        }
    });
}

fn pauses(test: Test) {
    in_process(test, 2, || {
        for (reason, kind) in [(StwReason::Unknown, "other"), (StwReason::GcMarkTerm, "gc")] {
            let names = ["stopping", "total"].map(|what| format!("/sched/pauses/{what}/{kind}:seconds"));
            let before = names.each_ref().map(|name| times(name));
            for _ in 0..5 {
                // SAFETY: the world is started at once.
                unsafe { proc::start_the_world(proc::stop_the_world(reason)) };
            }
            assert_eq!(names.each_ref().map(|name| times(name)), before.map(|times| times + 5));
        }
    });
}

fn idle_processors(test: Test) {
    in_process(test, 4, || {
        let idle = || seconds("/cpu/classes/idle:cpu-seconds");
        let (begun, before) = (Instant::now(), idle());
        sleep(Duration::from_millis(1));
        // P's that are still idle count too: three of them are.
        let slept = idle();
        while idle() < slept + 3.0 * 0.02 {}
        let (all, passed) = (idle() - before, begun.elapsed().as_secs_f64());
        assert!(all <= 4.0 * passed, "{all} s in {passed} s");
    });
}

fn idle_time_never_goes_back(test: Test) {
    in_process(test, 4, || {
        let last = AtomicBool::new(false);
        scope(|s| {
            // P's become idle and are wanted again all the time.
            s.go(|| {
                while !last.load(Ordering::Relaxed) {
                    let woken = go(|| sleep(Duration::from_micros(50)));
                    woken.join().unwrap();
                }
            });
            let read: Vec<f64> = (0..100_000).map(|_| seconds("/cpu/classes/idle:cpu-seconds")).collect();
            last.store(true, Ordering::Relaxed);
            assert!(read.is_sorted(), "it went back");
        });
    });
}

fn stacks(test: Test) {
    static WHILE_LARGE: AtomicUsize = AtomicUsize::new(0);
    static DONE: WaitGroup = WaitGroup::new();

    fn deeper(depth: usize) -> usize {
        let frame = black_box([depth; 100]);
        if depth == 0 {
            let bytes = proc_segments();
            WHILE_LARGE.store(bytes as usize, Ordering::Relaxed);
            return frame[0];
        }
        morestack_check!(4_000, deeper, depth - 1) + frame[1]
    }

    fn proc_segments() -> u64 {
        // SAFETY: it doesn't park.
        unsafe { proc::systemstack(|| count("/gosched/stacks/segments:bytes")) }
    }

    unsafe extern "C" fn body(_: *mut c_void) {
        deeper(50);
        DONE.done();
    }

    in_process(test, 1, || {
        let growths = count("/gosched/stacks/growths:growths");
        DONE.add(1);
        // SAFETY: the function checks its stack, and doesn't panic.
        unsafe { proc::newproc(Some(body), ptr::null_mut()) };
        DONE.wait();
        assert!(count("/gosched/stacks/growths:growths") > growths);
        assert!(WHILE_LARGE.load(Ordering::Relaxed) >= 50 * 800, "{WHILE_LARGE:?} bytes for 50 frames");
        assert!(count("/gosched/stacks/home:bytes") >= 2 * 4096);
        assert_eq!(count("/gosched/stacks/unguarded:stacks"), 0);
    });
}

fn preemptions(test: Test) {
    in_process(test, 1, || {
        // A goroutine that has lost its P isn't stopped at a check.
        proc::set_detach(false);
        let preemptions = || count("/gosched/preemptions:preemptions");
        let (before, other) = (preemptions(), go(|| ()));
        // sysmon asks when the time slice is over.
        while morestack_check!(0, || black_box(preemptions())) == before {
            // The goroutine may have lost its P before.
            if count("/gosched/detached:goroutines") != 0 {
                yield_now();
            }
        }
        other.join().unwrap();
    });
}

/// A goroutine that blocks its thread and one that computes lose the only P, which main wants.
fn detachments(test: Test) {
    let process = test.process(|| run(detaches));
    process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=1").end().with("exit status: 0");
}

fn detaches() {
    let detachments = |why| count(&format!("/gosched/detachments/{why}:goroutines"));
    let detached = || count("/gosched/detached:goroutines");
    let time = || seconds("/gosched/detached/total:seconds");
    static SEEN: AtomicBool = AtomicBool::new(false);
    // Each time is longer, because the monitor of a slow machine may look seldom.
    let times = || (1..).map(|n| n * Duration::from_millis(20));
    let blocks = go(move || {
        for time in times().take_while(|_| !SEEN.load(Ordering::Relaxed)) {
            sleep_with_thread(time);
            yield_now(); // sysmon may have taken it for one that computes
        }
    });
    while detachments("blocked") == 0 || detached() == 0 {
        yield_now();
    }
    SEEN.store(true, Ordering::Relaxed);
    blocks.join().unwrap();
    let computes = go(move || {
        for time in times().take_while(|_| detachments("computing") == 0) {
            let begun = Instant::now();
            while begun.elapsed() < time {}
            yield_now(); // sysmon may have taken it for a blocked one
        }
    });
    while !computes.is_finished() {
        yield_now();
    }
    while detached() > 0 {
        yield_now();
    }
    assert!(time() > 0.0);
}
