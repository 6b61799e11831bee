//! Models of the mutex: one at a time, and nobody sleeps on a free lock (loom fails if all
//! threads are blocked).

use std::sync::atomic::Ordering::Relaxed;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::runtime::base::os::MEMBARRIER;
use crate::runtime::data::ext::MutexKey;

/// What the lock protects: loom fails if two threads are in it, or one sees it half done.
struct Guarded {
    key: MutexKey,
    count: UnsafeCell<u32>,
}

// SAFETY: the lock protects the cell; loom checks that.
unsafe impl Send for Guarded {}
// SAFETY: likewise.
unsafe impl Sync for Guarded {}

fn enter(guarded: &Guarded) {
    guarded.key.lock();
    // SAFETY: the lock is held.
    guarded.count.with_mut(|count| unsafe { *count += 1 });
    guarded.key.unlock();
}

/// Three threads that each enter once.
fn check(membarrier: bool) {
    // The setting is one for the process, and the models run side by side.
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _running = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    MEMBARRIER.store(membarrier, Relaxed);
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let guarded = Arc::new(Guarded { key: MutexKey::default(), count: UnsafeCell::new(0) });
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

#[test]
fn unlock_without_a_fence() {
    check(true);
}

#[test]
fn unlock_without_membarrier() {
    check(false);
}
