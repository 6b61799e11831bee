//! Models of a wait that any thread may end.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::runtime::data::atomic::{AtomicU32, Ordering, check};
use crate::runtime::sema::parker::Parker;

/// A parker, and work that is done before the wake: loom fails if nothing orders the work before
/// the waiter's look at it.
struct Guarded {
    parker: Parker,
    done: UnsafeCell<bool>,
    happened: AtomicU32,
}

// SAFETY: the parker orders the accesses, which loom checks.
unsafe impl Send for Guarded {}
// SAFETY: likewise.
unsafe impl Sync for Guarded {}

impl Guarded {
    fn new() -> Arc<Self> {
        let (done, happened) = (UnsafeCell::new(false), AtomicU32::new(0));
        Arc::new(Guarded { parker: Parker::new(), done, happened })
    }
}

#[test]
fn who_has_waited_sees_what_was_done() {
    check(None, || {
        let guarded = Guarded::new();
        let waits = guarded.clone();
        let waiter = thread::spawn(move || {
            waits.parker.park("a model");
            // SAFETY: the work is done.
            assert!(waits.done.with(|done| unsafe { *done }));
        });
        // SAFETY: no waiter looks before the wake.
        guarded.done.with_mut(|done| unsafe { *done = true });
        guarded.parker.wake();
        guarded.parker.wake();
        waiter.join().unwrap();
        // No thread waits any more.
        guarded.parker.wake();
    });
}

/// Each thread wakes the waiter for a reason of its own, and the waiter misses none.
#[test]
fn two_wake() {
    check(Some(3), || {
        let guarded = Guarded::new();
        let wakers = [(); 2].map(|()| {
            let wakes = guarded.clone();
            thread::spawn(move || {
                // Relaxed: the wake orders it.
                wakes.happened.fetch_add(1, Ordering::Relaxed);
                wakes.parker.wake();
            })
        });
        while guarded.happened.load(Ordering::Relaxed) < 2 {
            guarded.parker.park("a model");
        }
        for waker in wakers {
            waker.join().unwrap();
        }
    });
}
