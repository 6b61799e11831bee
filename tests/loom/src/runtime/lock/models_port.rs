//! Models of a port's lock: one at a time, nobody sleeps on a free lock (loom fails if all threads are blocked), and who
//! has it last may free it.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::runtime::lock::port::PortMutex;

/// What the lock protects: loom fails if two threads are in it, or one sees it half done.
struct Guarded {
    lock: PortMutex,
    count: UnsafeCell<u32>,
}

// SAFETY: the lock protects the cell; loom checks that.
unsafe impl Send for Guarded {}
// SAFETY: likewise.
unsafe impl Sync for Guarded {}

fn enter(guarded: &Guarded) {
    guarded.lock.lock();
    // SAFETY: the lock is held.
    guarded.count.with_mut(|count| unsafe { *count += 1 });
    assert!(guarded.lock.unlock());
}

/// Three threads that each enter once.
#[test]
fn one_at_a_time() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let guarded = Arc::new(Guarded { lock: PortMutex::default(), count: UnsafeCell::new(0) });
        let threads = [(); 2].map(|()| {
            let guarded = guarded.clone();
            thread::spawn(move || enter(&guarded))
        });
        enter(&guarded);
        for thread in threads {
            thread.join().unwrap();
        }
        // SAFETY: nobody else is left.
        guarded.count.with(|count| assert_eq!(unsafe { *count }, 3));
    });
}
