//! Models of the mutex, and of a port's lock: one thread at a time has it, and none sleeps while it
//! is free (loom fails if all threads are blocked).

use std::sync::atomic::Ordering::Relaxed;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::runtime::base::os::MEMBARRIER;
use crate::runtime::data::ext::MutexKey;
use crate::runtime::lock::port_mutex::PortMutex;

/// The operations of both locks that the models use.
trait Lock: Default + 'static {
    fn take(&self);
    fn release(&self);
}

impl Lock for MutexKey {
    fn take(&self) {
        self.lock();
    }

    fn release(&self) {
        self.unlock();
    }
}

impl Lock for PortMutex {
    fn take(&self) {
        self.lock();
    }

    fn release(&self) {
        assert!(self.unlock());
    }
}

/// The data that the lock protects: loom fails if two threads use them at once, or one sees them
/// half changed.
#[derive(Default)]
struct Guarded<L> {
    lock: L,
    count: UnsafeCell<u32>,
}

// SAFETY: the lock protects the cell, which loom checks.
unsafe impl<L> Send for Guarded<L> {}
// SAFETY: likewise.
unsafe impl<L> Sync for Guarded<L> {}

fn enter(guarded: &Guarded<impl Lock>) {
    guarded.lock.take();
    // SAFETY: the lock is held.
    guarded.count.with_mut(|count| unsafe { *count += 1 });
    guarded.lock.release();
}

/// Three threads that each enter once.
fn check<L: Lock>() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(model.preemption_bound.map_or(3, |said| said.min(3)));
    model.check(|| {
        let guarded = Arc::new(Guarded::<L>::default());
        let threads = [(); 2].map(|()| {
            let guarded = guarded.clone();
            thread::spawn(move || enter(&guarded))
        });
        enter(&guarded);
        for thread in threads {
            thread.join().unwrap();
        }
        // SAFETY: no other thread is left.
        guarded.count.with(|count| assert_eq!(unsafe { *count }, 3));
    });
}

fn check_mutex(membarrier: bool) {
    // The setting is the process's, and the models run side by side.
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _running = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    MEMBARRIER.store(membarrier, Relaxed);
    check::<MutexKey>();
}

#[test]
fn unlock_without_a_fence() {
    check_mutex(true);
}

#[test]
fn unlock_without_membarrier() {
    check_mutex(false);
}

#[test]
fn unlock_of_a_port() {
    check::<PortMutex>();
}
