//! The workloads that use only goroutines and channels. `benches/instructions` runs the same file.

use gosched::chan::{Sender, bounded};
use gosched::iter::pull;
use gosched::sync::{Mutex, WaitGroup};
use gosched::{go, scope, select, yield_now};

pub fn gosched(n: u64) {
    scope(|s| {
        for _ in 0..2 {
            s.go(|| (0..n / 2).for_each(|_| yield_now()));
        }
    });
}

pub fn spawn(n: u64) {
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

pub fn spawn_wait(n: u64) {
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

pub fn bufchan(n: u64) {
    let (tx, rx) = bounded(128);
    go(move || {
        for i in 0..n {
            tx.send(i).unwrap();
        }
    });
    assert_eq!(rx.iter().sum::<u64>(), n * (n - 1) / 2);
}

pub fn select4(n: u64) {
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

/// `leaves` is a power of ten.
pub fn skynet(n: u64, leaves: u64) {
    for _ in 0..n {
        let (out, sum) = bounded(0);
        go(move || node(out, 0, leaves));
        assert_eq!(sum.recv(), Ok(leaves * (leaves - 1) / 2));
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

pub fn fib(n: u32) -> u64 {
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

pub fn mutex(n: u64) {
    let mutex = Mutex::new(());
    scope(|s| {
        for _ in 0..8 {
            s.go(|| (0..n / 8).for_each(|_| drop(mutex.lock())));
        }
    });
}

pub fn coroswitch(n: u64) {
    let values = pull(move |out| (0..n).for_each(|i| out.yield_(i)));
    assert_eq!(values.sum::<u64>(), n * (n - 1) / 2);
}
