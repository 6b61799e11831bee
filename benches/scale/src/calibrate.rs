//! Measures the constants of `sim/costs.rs`, as far as two processors can.

use std::hint::spin_loop;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::thread;
use std::time::{Duration, Instant};

/// A word on a cache line of its own, whose neighbouring line isn't fetched with it.
#[repr(align(128))]
#[derive(Default)]
struct Word(AtomicU32);

/// Prints each constant that can be measured here, in nanoseconds.
pub fn print() {
    let word = Word::default();
    let print = |name, ns: f64| println!("{name}\t{ns:.1} ns");
    print("hit", each(10_000_000, || _ = word.0.load(SeqCst)));
    print("rmw", each(10_000_000, || _ = word.0.fetch_add(1, SeqCst)));
    print("near", line());
    print("pause", each(1_000_000, spin_loop));
    // SAFETY: it has no arguments.
    print("syscall", each(1_000_000, || _ = unsafe { libc::sched_yield() }));
    print("clock", each(1_000_000, || _ = Instant::now()));
    // SAFETY: it only sleeps.
    print("usleep", each(2_000, || _ = unsafe { libc::usleep(3) }));
    print("clone", each(500, || thread::spawn(|| ()).join().unwrap()) / 2.0);
    print("epoll", epoll());
    let (wake, latency, sleep) = futex();
    print("futex_wake", wake);
    print("wake_latency", latency);
    print("futex_sleep", sleep);
    let (call, interrupt) = barrier();
    print("barrier_call", call);
    print("barrier_interrupt", interrupt);
}

fn each(n: u32, mut f: impl FnMut()) -> f64 {
    (0..n / 10).for_each(|_| f());
    let start = Instant::now();
    (0..n).for_each(|_| f());
    start.elapsed().as_nanos() as f64 / f64::from(n)
}

/// Measures the transfer of a line from one core to the other, from round trips of a value.
fn line() -> f64 {
    let word = Word::default();
    let rounds = 1_000_000;
    thread::scope(|s| {
        s.spawn(|| {
            for i in 0..rounds {
                while word.0.load(Acquire) != 2 * i + 1 {}
                word.0.store(2 * i + 2, Release);
            }
        });
        let start = Instant::now();
        for i in 0..rounds {
            word.0.store(2 * i + 1, Release);
            while word.0.load(Acquire) != 2 * i + 2 {}
        }
        // In each direction the line is fetched twice: to be written, and to be read.
        start.elapsed().as_nanos() as f64 / f64::from(rounds) / 4.0
    })
}

fn epoll() -> f64 {
    // SAFETY: makes a descriptor; the kernel may write one event, for which there is room.
    unsafe {
        let epoll = libc::epoll_create1(0);
        let mut event = std::mem::zeroed();
        let ns = each(500_000, || _ = libc::epoll_wait(epoll, &raw mut event, 1, 0));
        libc::close(epoll);
        ns
    }
}

fn futex_call(word: &AtomicU32, op: i32, value: u32) -> i64 {
    // SAFETY: the word lives, and there is no timeout.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op | libc::FUTEX_PRIVATE_FLAG, value, 0_usize) }
}

/// Measures the time that a wake takes from its caller, the time until the sleeper runs, and the
/// time of a sleep that returns at once. The other two times cover the rest of a sleep.
fn futex() -> (f64, f64, f64) {
    let (word, began, woken_at) = (Word::default(), Instant::now(), AtomicU64::new(0));
    let rounds = 3000;
    let (mut calls, mut latencies) = (Vec::new(), Vec::new());
    thread::scope(|s| {
        s.spawn(|| {
            for i in 0..rounds {
                while word.0.load(Acquire) == i {
                    futex_call(&word.0, libc::FUTEX_WAIT, i);
                }
                woken_at.store(began.elapsed().as_nanos() as u64, Release);
            }
        });
        for i in 0..rounds {
            // Until it sleeps, and a little more.
            let until = Instant::now() + Duration::from_micros(60);
            while Instant::now() < until {}
            woken_at.store(0, Relaxed);
            word.0.store(i + 1, Release);
            let before = began.elapsed().as_nanos() as u64;
            futex_call(&word.0, libc::FUTEX_WAKE, 1);
            calls.push(began.elapsed().as_nanos() as u64 - before);
            while woken_at.load(Acquire) == 0 {}
            latencies.push(woken_at.load(Relaxed).saturating_sub(before));
        }
    });
    let not_slept = each(300_000, || _ = futex_call(&word.0, libc::FUTEX_WAIT, 0));
    (median(calls), median(latencies), not_slept)
}

fn median(mut all: Vec<u64>) -> f64 {
    all.sort_unstable();
    all[all.len() / 2] as f64
}

/// Measures `membarrier` while one other thread runs: the time that the call takes from its caller,
/// and the time that it takes from the other thread.
fn barrier() -> (f64, f64) {
    let call = |command: i32| {
        // SAFETY: it has no pointers.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
    };
    assert_eq!(call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED), 0);
    let (stop, counted) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|s| {
        s.spawn(|| {
            while !stop.load(Relaxed) {
                counted.store(counted.load(Relaxed) + 1, Relaxed);
            }
        });
        let speed = |f: &dyn Fn()| {
            let (start, before) = (Instant::now(), counted.load(Relaxed));
            let mut n = 0;
            while start.elapsed() < Duration::from_millis(300) {
                f();
                n += 1;
            }
            let ns = start.elapsed().as_nanos() as f64;
            ((counted.load(Relaxed) - before) as f64 / ns, n as f64, ns)
        };
        let (alone, ..) = speed(&|| thread::sleep(Duration::from_millis(300)));
        let (beside, n, ns) = speed(&|| _ = call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED));
        stop.store(true, SeqCst);
        (ns / n, (1.0 - beside / alone) * ns / n)
    })
}
