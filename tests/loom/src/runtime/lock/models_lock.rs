//! Models of the mutex, and of a port's lock: one thread at a time has it, and none sleeps while it
//! is free (loom fails if all threads are blocked).

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::runtime::base::os::MEMBARRIER;
use crate::runtime::data::atomic::check_once;
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
fn check<L: Lock>(membarrier: bool) {
    check_once(Some(3), move || {
        MEMBARRIER.set(membarrier);
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
    check::<MutexKey>(membarrier);
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
    check::<PortMutex>(true);
}
