//! The model's workloads, on the scheduler that ships and on this machine. `real PROCS WORKLOAD
//! OPS` prints how many nanoseconds an operation takes, and how many sleeps of threads.

use std::env::{args, set_var};
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use gosched::chan::{Sender, bounded};
use gosched::go;
use gosched::sync::WaitGroup;
use gosched::time::sleep;

fn main() {
    let args: Vec<String> = args().collect();
    let [_, procs, work, ops] = args.as_slice() else { panic!("real PROCS WORKLOAD OPS") };
    let (procs, ops): (u64, u64) = (procs.parse().unwrap(), ops.parse().unwrap());
    // SAFETY: there is no other thread yet.
    unsafe { set_var("GOMAXPROCS", procs.to_string()) };
    // SAFETY: no workload has a thread-local, and what prints doesn't park.
    unsafe { gosched::set_default_shared_locals() }.expect("it comes first");
    gosched::run(|| {
        let run = |ops| match work.as_str() {
            "Spawn" => spawn(ops),
            "Skynet" => skynet(ops, Duration::ZERO),
            "Tree" => skynet(ops, Duration::from_micros(2)),
            "Pairs" => pairs(ops, procs),
            "Pair" => pairs(ops, 1),
            "Burst" => burst(ops),
            "Timers" => timers(ops, procs * 8),
            _ => panic!("no such workload"),
        };
        run(ops / 5);
        let (start, before) = (Instant::now(), sleeps());
        let ops = run(ops) as f64;
        let (ns, slept) = (start.elapsed().as_nanos() as f64 / ops, (sleeps() - before) as f64 / ops);
        println!("{work} {procs}: {ns:.1} ns, {slept:.5} sleeps");
    });
}

/// Returns how often this process's threads have left their processor voluntarily.
fn sleeps() -> i64 {
    let mut usage = MaybeUninit::zeroed();
    // SAFETY: it writes to memory that has room for its result, and in which zeroes are valid.
    unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        let usage: libc::rusage = usage.assume_init();
        usage.ru_nvcsw
    }
}

fn compute(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {}
}

fn spawn(ops: u64) -> u64 {
    static RUNNING: WaitGroup = WaitGroup::new();
    for i in 0..ops {
        RUNNING.add(1);
        go(|| RUNNING.done());
        if i % 100 == 99 {
            RUNNING.wait();
        }
    }
    RUNNING.wait();
    ops
}

fn skynet(ops: u64, leaf: Duration) -> u64 {
    let mut size = 10;
    while size < ops {
        size *= 10;
    }
    let (out, sum) = bounded(0);
    go(move || node(out, size, leaf));
    sum.recv().unwrap();
    (size * 10 - 1) / 9
}

fn node(out: Sender<u64>, size: u64, leaf: Duration) {
    if size == 1 {
        if !leaf.is_zero() {
            compute(leaf);
        }
        return out.send(1).unwrap();
    }
    let (tx, rx) = bounded(0);
    for _ in 0..10 {
        let tx = tx.clone();
        go(move || node(tx, size / 10, leaf));
    }
    out.send((0..10).map(|_| rx.recv().unwrap()).sum()).unwrap();
}

fn pairs(ops: u64, pairs: u64) -> u64 {
    let all: Vec<_> = (0..pairs)
        .map(|_| {
            let (ping, pinged) = bounded(0);
            let (pong, ponged) = bounded(0);
            go(move || pinged.iter().for_each(|value: u64| pong.send(value).unwrap()));
            go(move || {
                for i in 0..ops / pairs {
                    ping.send(i).unwrap();
                    ponged.recv().unwrap();
                }
            })
        })
        .collect();
    all.into_iter().for_each(|one| one.join().unwrap());
    ops
}

fn burst(ops: u64) -> u64 {
    static RUNNING: WaitGroup = WaitGroup::new();
    let doors: Vec<Sender<()>> = (0..64)
        .map(|_| {
            let (door, woken) = bounded(0);
            go(move || {
                for () in woken {
                    compute(Duration::from_micros(5));
                    RUNNING.done();
                }
            });
            door
        })
        .collect();
    for _ in 0..ops / 64 {
        RUNNING.add(64);
        doors.iter().for_each(|door| door.send(()).unwrap());
        RUNNING.wait();
    }
    ops / 64 * 64
}

fn timers(ops: u64, sleepers: u64) -> u64 {
    let each = ops / sleepers;
    let all: Vec<_> = (0..sleepers)
        .map(|i| {
            go(move || {
                sleep(Duration::from_nanos(100_000 / sleepers * i));
                for _ in 0..each {
                    compute(Duration::from_micros(5));
                    sleep(Duration::from_micros(100));
                }
            })
        })
        .collect();
    all.into_iter().for_each(|one| one.join().unwrap());
    each * sleepers
}
