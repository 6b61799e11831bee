//! The workloads on the safe API, as a program would be written with it.

use std::hint::black_box;
use std::os::unix::process::parent_id;
use std::thread;
use std::time::{Duration, Instant};

use gosched::chan::{Sender, bounded};
use gosched::iter::pull;
use gosched::sync::{Mutex, WaitGroup};
use gosched::time::sleep;
use gosched::{blocking, go, scope, select, yield_now};
use gosched_benches::Args;
use gosched_benches::median::median;

use crate::raw::switch_pair;

pub fn run(args: &Args) {
    args.timed("gosched", 5_000_000, gosched);
    args.timed("spawn", 2_000_000, spawn);
    args.timed("spawn_wait", 1_000_000, spawn_wait);
    args.timed("pingpong", 2_000_000, pingpong);
    args.timed("bufchan", 10_000_000, bufchan);
    args.timed("select4", 2_000_000, select4);
    args.timed("skynet", 5, skynet);
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

fn gosched(n: u64) {
    scope(|s| {
        for _ in 0..2 {
            s.go(|| (0..n / 2).for_each(|_| yield_now()));
        }
    });
}

fn spawn(n: u64) {
    static RUNNING: WaitGroup = WaitGroup::new();
    for i in 0..n {
        RUNNING.add(1);
        go(|| RUNNING.done());
        if i % 100 == 99 {
            RUNNING.wait();
        }
    }
    RUNNING.wait();
}

fn spawn_wait(n: u64) {
    for _ in 0..n {
        go(|| ()).join().unwrap();
    }
}

pub fn pingpong(n: u64) {
    let (ping, pinged) = bounded(0);
    let (pong, ponged) = bounded(0);
    go(move || {
        for value in pinged {
            pong.send(value).unwrap();
        }
    });
    for i in 0..n {
        ping.send(i).unwrap();
        assert_eq!(ponged.recv(), Ok(i));
    }
}

fn bufchan(n: u64) {
    let (tx, rx) = bounded(128);
    go(move || {
        for i in 0..n {
            tx.send(i).unwrap();
        }
    });
    assert_eq!(rx.iter().sum::<u64>(), n * (n - 1) / 2);
}

fn select4(n: u64) {
    let channels = [(); 4].map(|()| bounded(0));
    let [(_, a), (_, b), (_, c), (_, d)] = &channels;
    scope(|s| {
        for (tx, _) in &channels {
            s.go(|| (0..n / 4).for_each(|i| tx.send(i).unwrap()));
        }
        for _ in 0..n / 4 * 4 {
            let value = select! {
                recv(a) -> value => value,
                recv(b) -> value => value,
                recv(c) -> value => value,
                recv(d) -> value => value,
            };
            value.unwrap();
        }
    });
}

fn skynet(n: u64) {
    for _ in 0..n {
        let (out, sum) = bounded(0);
        go(move || node(out, 0, 1_000_000));
        assert_eq!(sum.recv(), Ok(499_999_500_000));
    }
}

fn node(out: Sender<u64>, first: u64, size: u64) {
    if size == 1 {
        out.send(first).unwrap();
        return;
    }
    let (part, parts) = bounded(0);
    for i in 0..10 {
        let part = part.clone();
        go(move || node(part, first + i * (size / 10), size / 10));
    }
    out.send(parts.iter().take(10).sum()).unwrap();
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    if n < 12 {
        return fib(n - 1) + fib(n - 2);
    }
    let (tx, rx) = bounded(1);
    go(move || tx.send(fib(n - 1)).unwrap());
    fib(n - 2) + rx.recv().unwrap()
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

fn mutex(n: u64) {
    let mutex = Mutex::new(());
    scope(|s| {
        for _ in 0..8 {
            s.go(|| (0..n / 8).for_each(|_| drop(mutex.lock())));
        }
    });
}

fn coroswitch(n: u64) {
    let values = pull(move |out| (0..n).for_each(|i| out.yield_(i)));
    assert_eq!(values.sum::<u64>(), n * (n - 1) / 2);
}

/// The median of many short rounds, which take about as long for both.
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

/// Whether a second P is a second processor: then two goroutines take as long as one. Two threads are
/// measured, too, as two processors may be halves of one core.
fn two_cpu(args: &Args) {
    // The least time of each: what else the machine does can only add to it.
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

/// How long `count` goroutines compute.
fn goroutines(count: usize) -> Duration {
    let start = Instant::now();
    scope(|s| (0..count).for_each(|_| _ = s.go(compute)));
    start.elapsed()
}

/// How long `count` threads compute.
fn threads(count: usize) -> Duration {
    let start = Instant::now();
    thread::scope(|s| (0..count).for_each(|_| _ = s.spawn(compute)));
    start.elapsed()
}

fn compute() -> u64 {
    (0..50_000_000_u64).fold(0, |sum, i| black_box(sum ^ i))
}
