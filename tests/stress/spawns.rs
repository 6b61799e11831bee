//! Goroutines that make goroutines.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::chan::bounded;
use gosched::sync::WaitGroup;
use gosched::{Builder, go, lock_os_thread, proc, scope};

use super::rng::Rng;
use super::tally::{Op, count};

/// A tree of goroutines. Each makes its children and adds up their results.
pub fn tree(rng: &mut Rng) {
    fn node(mut rng: Rng, depth: u32, width: usize) -> usize {
        count(Op::Spawn);
        if depth == 0 {
            return 1;
        }
        let handles: Vec<_> = (0..width)
            .map(|_| {
                let rng = rng.fork();
                go(move || node(rng, depth - 1, width))
            })
            .collect();
        rng.pause();
        handles.into_iter().map(|handle| handle.join().unwrap()).sum()
    }
    let (depth, width) = (rng.below(5) as u32, rng.up_to(4));
    assert_eq!(node(rng.fork(), depth, width), width.pow(depth));
}

pub fn dropped_handles(rng: &mut Rng) {
    let group = Arc::new(WaitGroup::new());
    let sum = Arc::new(AtomicUsize::new(0));
    let n = rng.up_to(300);
    for i in 0..n {
        group.add(1);
        let (group, sum, mut rng) = (group.clone(), sum.clone(), rng.fork());
        let handle = go(move || {
            rng.pause();
            sum.fetch_add(i, Ordering::Relaxed);
            group.done();
            count(Op::Spawn);
        });
        drop(handle);
    }
    group.wait();
    assert_eq!(sum.load(Ordering::Relaxed), n * (n - 1) / 2);
}

pub fn borrowers(rng: &mut Rng) {
    let mut numbers = vec![0; rng.up_to(2000)];
    let part = rng.up_to(200);
    scope(|s| {
        for numbers in numbers.chunks_mut(part) {
            let mut rng = rng.fork();
            s.go(move || {
                rng.pause();
                numbers.iter_mut().enumerate().for_each(|(i, number)| *number = i);
                count(Op::Spawn);
            });
        }
    });
    assert!(numbers.iter().enumerate().all(|(i, &number)| number == i % part));
}

/// Closures and results that are too large for a home page, with stacks of three sizes.
pub fn large_results(rng: &mut Rng) {
    let handles: Vec<_> = (0..rng.up_to(30))
        .map(|i| {
            let (mut rng, size) = (rng.fork(), rng.pick(&[200 << 10, 256 << 10, 1 << 20]));
            let values = [i; 1000];
            let handle = Builder::new().stack_size(size).go(move || {
                rng.pause();
                count(Op::Spawn);
                values.map(|value| value + 1)
            });
            handle.unwrap()
        })
        .collect();
    for (i, handle) in handles.into_iter().enumerate() {
        if rng.one_in(3) {
            drop(handle);
        } else {
            assert!(handle.join().unwrap().iter().all(|&value| value == i + 1));
        }
    }
}

pub fn locked_threads(rng: &mut Rng) {
    let (tx, rx) = bounded(rng.below(2));
    scope(|s| {
        for _ in 0..rng.up_to(3) {
            let (tx, mut rng) = (tx.clone(), rng.fork());
            s.go(move || {
                let locked = lock_os_thread();
                let here = proc::getm().addr();
                for _ in 0..rng.up_to(20) {
                    tx.send(()).unwrap();
                    rng.pause();
                    assert_eq!(proc::getm().addr(), here);
                    count(Op::Thread);
                }
                // Half of the goroutines end without unlocking their thread.
                if rng.one_in(2) {
                    std::mem::forget(locked);
                }
            });
        }
        drop(tx);
        rx.iter().for_each(drop);
    });
}

/// Gives unused memory back to the system, while other goroutines need memory.
pub fn memory_back(rng: &mut Rng) {
    for _ in 0..rng.up_to(3) {
        proc::free_os_memory();
        rng.pause();
        count(Op::Memory);
    }
}
