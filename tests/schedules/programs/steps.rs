//! Programs whose schedules are timed: ten goroutines with ten operations each.

use gosched::chan::bounded;
use gosched::sync::Mutex;
use gosched::{scope, yield_now};

pub const PROGRAMS: [(&str, fn()); 3] = [("locks", locks), ("channel", channel), ("yields", yields)];

const GOROUTINES: usize = 10;
const OPERATIONS: usize = 10;

fn locks() {
    let sum = Mutex::new(0);
    scope(|s| {
        for _ in 0..GOROUTINES {
            s.go(|| (0..OPERATIONS).for_each(|_| *sum.lock() += 1));
        }
    });
    assert_eq!(sum.into_inner(), GOROUTINES * OPERATIONS);
}

fn channel() {
    let (tx, rx) = bounded(GOROUTINES);
    scope(|s| {
        for _ in 0..GOROUTINES {
            s.go(|| (0..OPERATIONS).for_each(|_| tx.send(1).unwrap()));
        }
        let sum: usize = (0..GOROUTINES * OPERATIONS).map(|_| rx.recv().unwrap()).sum();
        assert_eq!(sum, GOROUTINES * OPERATIONS);
    });
}

fn yields() {
    scope(|s| {
        for _ in 0..GOROUTINES {
            s.go(|| (0..OPERATIONS).for_each(|_| yield_now()));
        }
    });
}
