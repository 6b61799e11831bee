//! The workloads on the safe API, as a program would be written with it.

use std::hint::black_box;
use std::os::unix::process::parent_id;
use std::thread;
use std::time::{Duration, Instant};

use gosched::sync::WaitGroup;
use gosched::time::sleep;
use gosched::{blocking, go, scope};
use gosched_benches::Args;
use gosched_benches::median::median;

use crate::raw::switch_pair;
use crate::workloads::{
    bufchan, coroswitch, fib, gosched, mutex, pingpong, select4, skynet, spawn, spawn_wait,
};

pub fn run(args: &Args) {
    args.timed("gosched", 5_000_000, gosched);
    args.timed("spawn", 2_000_000, spawn);
    args.timed("spawn_wait", 1_000_000, spawn_wait);
    args.timed("pingpong", 2_000_000, pingpong);
    args.timed("bufchan", 10_000_000, bufchan);
    args.timed("select4", 2_000_000, select4);
    args.timed("skynet", 5, |n| skynet(n, 1_000_000));
    args.timed("fib", 200, |n| (0..n).for_each(|_| assert_eq!(fib(27), 196_418)));
    args.timed("sleepers", 100_000, sleepers);
    args.timed("mutex", 10_000_000, mutex);
    args.timed("coroswitch", 10_000_000, coroswitch);
    if args.wants("coroswitch") {
        coroswitch_pairs(args);
    }
    args.timed("syscall", 5_000_000, |n| (0..n).for_each(|_| _ = blocking(parent_id)));
    if args.wants("two_cpu") && args.procs >= 2 {
        two_cpu(args);
    }
}

fn sleepers(n: u64) {
    static RUNNING: WaitGroup = WaitGroup::new();
    RUNNING.add(n as u32);
    for _ in 0..n {
        go(|| {
            sleep(Duration::from_millis(10));
            RUNNING.done();
        });
    }
    RUNNING.wait();
}

/// Reports the medians of many short rounds, which take about as long for both.
fn coroswitch_pairs(args: &Args) {
    const N: u64 = 50_000;
    let time = |f: fn(u64), n| {
        let start = Instant::now();
        f(n);
        start.elapsed().as_secs_f64() / n as f64
    };
    let ratio = median((0..100).map(|_| time(coroswitch, N) / time(switch_pair, 4 * N)));
    args.report("coroswitch_pairs", ratio.unwrap_or_default(), "ratio");
}

/// Measures whether a second P is a second processor: then two goroutines take as long as one. It
/// also measures two threads, because two processors may be halves of one core.
fn two_cpu(args: &Args) {
    // The least time of each measurement: other work on the machine can only add to it.
    let mut best = [Duration::MAX; 4];
    for _ in 0..10 {
        for (i, time_of) in [goroutines, threads].into_iter().enumerate() {
            for count in 1..=2 {
                let place = &mut best[2 * i + count - 1];
                *place = (*place).min(time_of(count));
            }
        }
    }
    let [one, two, one_thread, two_threads] = best.map(|time| time.as_secs_f64());
    args.report("two_cpu", two / one, "ratio");
    args.report("two_cpu_threads", two_threads / one_thread, "ratio");
}

/// Measures how long `count` goroutines compute.
fn goroutines(count: usize) -> Duration {
    let start = Instant::now();
    scope(|s| (0..count).for_each(|_| _ = s.go(compute)));
    start.elapsed()
}

/// Measures how long `count` threads compute.
fn threads(count: usize) -> Duration {
    let start = Instant::now();
    thread::scope(|s| (0..count).for_each(|_| _ = s.spawn(compute)));
    start.elapsed()
}

fn compute() -> u64 {
    (0..50_000_000_u64).fold(0, |sum, i| black_box(sum ^ i))
}
