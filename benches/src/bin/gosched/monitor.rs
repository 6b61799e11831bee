//! The tasks of sysmon: no goroutine may keep a processor for long, or hold one without using it.
//!
//! `go/monitor.go` does the same.

use std::hint::black_box;
use std::io::{Read, Write, pipe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use gosched::chan::bounded;
use gosched::preemptible;
use gosched::sync::WaitGroup;
use gosched::time::{sleep, sleep_until};
use gosched::{blocking, go, scope, yield_now};
use gosched_benches::median::median;
use gosched_benches::quantile::quantile;
use gosched_benches::{Args, cpu_time, threads};

pub fn run(args: &Args) {
    if args.wants("preempt_p99") {
        let step = || {
            // The work spreads the tries over several time slices.
            spin_for(Duration::from_millis(1));
            time(yield_now)
        };
        let waits = while_all_spin(args, || (0..500).map(|_| step()).collect::<Vec<_>>());
        args.report("preempt_p99", quantile(&waits, 0.99), "ns");
    }
    if args.names("wake") {
        wake(args);
    }
    if args.names("pair") {
        pair(args);
    }
    if args.names("blocked") {
        blocked(args);
    }
    if args.names("threads") {
        many_blocked(args);
    }
    if args.names("idle") {
        idle(args);
    }
}

/// Returns how many nanoseconds `f` takes.
fn time(f: impl FnOnce()) -> f64 {
    let start = Instant::now();
    f();
    start.elapsed().as_nanos() as f64
}

fn spin_for(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {}
}

/// Reports the median, the 99th percentile and the maximum of many waits.
pub fn report_waits(args: &Args, name: &str, waits: &[f64]) {
    for (what, q) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
        args.report(&format!("{name}_{what}"), quantile(waits, q), "ns");
    }
}

preemptible! {
    /// Spins until `stop` is set.
    ///
    /// # Safety
    /// The caller holds no lock, and uses no thread-local.
    unsafe fn spin(stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {}
    }
}

/// Calls `f` while each P has a goroutine that spins.
fn while_all_spin<R>(args: &Args, f: impl FnOnce() -> R) -> R {
    let stop = AtomicBool::new(false);
    scope(|s| {
        for _ in 0..args.procs {
            // SAFETY: no lock is held, and no thread-local in use.
            s.go(|| unsafe { spin(&stop) });
        }
        let result = f();
        stop.store(true, Ordering::Relaxed);
        result
    })
}

/// The number of tries of a workload that measures waits.
const TRIES: u64 = 1_000;

/// How long to sleep before try `i`: 1 to 20 ms, so that the other goroutines are anywhere in their
/// slices.
fn pause(i: u64) -> Duration {
    Duration::from_micros(1_000 + i * 7_919 % 19_000)
}

/// Measures the time from when a goroutine could run until it runs, while each P has a goroutine
/// that spins. One goroutine has slept, the other was sent something by a thread.
fn wake(args: &Args) {
    let late = || {
        let until = (0..TRIES).map(|i| {
            let due = Instant::now() + pause(i);
            sleep_until(due);
            due.elapsed().as_nanos() as f64
        });
        until.collect::<Vec<_>>()
    };
    report_waits(args, "wake_timer", &while_all_spin(args, late));
    let late = || {
        let (tx, rx) = bounded::<Instant>(1);
        let (seen, next) = mpsc::channel();
        thread::spawn(move || {
            for i in 0..TRIES {
                thread::sleep(pause(i));
                tx.send(Instant::now()).unwrap();
                next.recv().unwrap();
            }
        });
        let since = rx.iter().map(|sent| {
            let late = sent.elapsed().as_nanos() as f64;
            seen.send(()).unwrap();
            late
        });
        since.collect::<Vec<_>>()
    };
    report_waits(args, "wake_thread", &while_all_spin(args, late));
}

/// Measures how long a yield takes to return while, for each P, two goroutines hand a value to and
/// fro: each makes the other the next to run, in the rest of its own time slice.
fn pair(args: &Args) {
    let stop = AtomicBool::new(false);
    let waits = scope(|s| {
        for _ in 0..args.procs {
            let (ping, pinged) = bounded(0);
            let (pong, ponged) = bounded(0);
            let stop = &stop;
            s.go(move || {
                while !stop.load(Ordering::Relaxed) {
                    ping.send(()).unwrap();
                    ponged.recv().unwrap();
                }
            });
            s.go(move || pinged.iter().for_each(|()| pong.send(()).unwrap()));
        }
        let waits: Vec<_> = (0..TRIES).map(|_| time(yield_now)).collect();
        stop.store(true, Ordering::Relaxed);
        waits
    });
    report_waits(args, "pair", &waits);
}

/// Measures how long a goroutine computes while another waits in a system call, divided by how long
/// it takes alone.
fn blocked(args: &Args) {
    let (reader, writer) = pipe().unwrap();
    let ratios = (0..100).map(|_| {
        let alone = time(compute);
        let beside = scope(|s| {
            s.go(|| blocking(|| (&reader).read_exact(&mut [0])).unwrap());
            // Returns when the other goroutine, in the system call, has lost its P.
            yield_now();
            let beside = time(compute);
            (&writer).write_all(&[0]).unwrap();
            beside
        });
        beside / alone
    });
    args.report("blocked", median(ratios).unwrap_or_default(), "ratio");
}

#[inline(never)]
fn compute() {
    black_box((0..20_000_000_u64).fold(0, |sum, i| black_box(sum ^ i)));
}

/// Measures how many threads 10,000 goroutines need that make system calls of 1 ms, and how long
/// the calls take.
fn many_blocked(args: &Args) {
    const COUNT: u32 = 10_000;
    const CALLS: u32 = 10;
    static RUNNING: WaitGroup = WaitGroup::new();
    RUNNING.add(COUNT);
    let start = Instant::now();
    for _ in 0..COUNT {
        go(|| {
            for _ in 0..CALLS {
                blocking(|| thread::sleep(Duration::from_millis(1)));
            }
            RUNNING.done();
        });
    }
    RUNNING.wait();
    args.report("threads", threads(), "threads");
    args.report("threads_call", start.elapsed().as_nanos() as f64 / f64::from(COUNT * CALLS), "ns/op");
}

/// Measures the processor time of the process in 10 s in which all its goroutines are parked.
fn idle(args: &Args) {
    let (gate, opened) = bounded::<()>(0);
    scope(|s| {
        for _ in 0..1_000 {
            s.go(|| opened.recv());
        }
        sleep(Duration::from_millis(100));
        let before = cpu_time();
        sleep(Duration::from_secs(10));
        args.report("idle", cpu_time() - before, "ns");
        drop(gate);
    });
}
