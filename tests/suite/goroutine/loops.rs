//! Loops of operations that a signal can seldom stop. They stop by themselves when asked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use gosched::{Builder, blocking, go, proc, run};

use crate::harness::{Test, tests};

tests! {
    of_go
    of_go_with_shared_locals
    of_blocking
}

/// The most calls of the operation after the request to stop.
const CALLS: usize = 100;

/// Calls `operation` until another goroutine has run, on one P, where no goroutine loses it.
fn ends(test: Test, operation: fn()) {
    static OTHER_RAN: AtomicBool = AtomicBool::new(false);
    let process = test.process(|| {
        run(|| {
            drop(go(|| OTHER_RAN.store(true, Ordering::Relaxed)));
            // SAFETY: G's are never freed.
            let gp = unsafe { &*proc::getg() };
            let mut unheard = 0;
            while !OTHER_RAN.load(Ordering::Relaxed) {
                operation();
                unheard += usize::from(gp.preempt.load(Ordering::Relaxed));
                assert!(unheard < CALLS, "it was asked to stop, and goes on");
                // Otherwise a slow machine makes very many before it looks.
                thread::sleep(Duration::from_micros(100));
            }
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=0").end().with("exit status: 0");
}

fn of_go(test: Test) {
    ends(test, || drop(go(|| ())));
}

fn of_go_with_shared_locals(test: Test) {
    ends(test, || {
        // SAFETY: it does nothing.
        let lean = unsafe { Builder::new().shared_locals() };
        drop(lean.go(|| ()).unwrap());
    });
}

fn of_blocking(test: Test) {
    ends(test, || blocking(|| ()));
}
