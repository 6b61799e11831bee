//! [`Semaphore`].

use std::cell::{Cell, UnsafeCell};
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::AtomicU32;

use crate::lock::{lock, unlock};
use crate::proc::park::on_goroutine;
use crate::runtime2::Mutex;
use crate::sema::{semacquire, semrelease};
use crate::wait::must_wait;

/// A number of permits, which goroutines take and give back: Go's
/// `golang.org/x/sync/semaphore`, with tokio's names.
///
/// Who waits is served in order: one that wants many isn't starved by others that want few.
///
/// ```
/// use gosched::sync::Semaphore;
///
/// static SLOTS: Semaphore = Semaphore::new(3);
/// # // SAFETY: no thread-local is kept across a point that can park.
/// # unsafe {
/// gosched::run(|| {
///     gosched::scope(|s| {
///         for _ in 0..100 {
///             s.go(|| {
///                 let _slot = SLOTS.acquire();
///                 gosched::yield_now(); // no more than three goroutines are here at a time
///             });
///         }
///     });
///     assert_eq!(SLOTS.available_permits(), 3);
/// })
/// # };
/// ```
pub struct Semaphore {
    /// Protects the rest; a runtime lock, so that permits can be given back on any thread.
    lock: Mutex,
    permits: Cell<usize>,
    waiters: UnsafeCell<VecDeque<Waiter>>,
}

/// Somebody who waits for `n` permits, and wakes when `granted` is released. It is on that
/// goroutine's stack.
struct Waiter {
    n: usize,
    granted: *const AtomicU32,
}

// SAFETY: all is protected by the lock.
unsafe impl Send for Semaphore {}
// SAFETY: likewise.
unsafe impl Sync for Semaphore {}

/// Permits of a [`Semaphore`]; dropping it gives them back.
#[must_use = "dropping the permit gives it back"]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    n: usize,
}

impl Semaphore {
    /// A semaphore with so many permits.
    pub const fn new(permits: usize) -> Self {
        Semaphore {
            lock: Mutex::new(),
            permits: Cell::new(permits),
            waiters: UnsafeCell::new(VecDeque::new()),
        }
    }

    /// The queue.
    ///
    /// # Safety
    /// The lock is held, and no other such borrow is alive.
    #[allow(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    unsafe fn waiters(&self) -> &mut VecDeque<Waiter> {
        // SAFETY: the caller's.
        unsafe { &mut *self.waiters.get() }
    }

    /// Takes `n` permits if there are so many and nobody waits. The lock is held.
    fn take(&self, n: usize) -> bool {
        // SAFETY: the lock is held.
        let free = unsafe { self.waiters() }.is_empty() && self.permits.get() >= n;
        if free {
            self.permits.set(self.permits.get() - n);
        }
        free
    }

    /// Takes a permit; waits until there is one.
    ///
    /// # Panics
    /// If it would have to wait and is on no goroutine.
    #[track_caller]
    pub fn acquire(&self) -> SemaphorePermit<'_> {
        self.acquire_many(1)
    }

    /// Takes `n` permits at once; waits until there are so many.
    ///
    /// # Panics
    /// If it would have to wait and is on no goroutine.
    #[track_caller]
    pub fn acquire_many(&self, n: usize) -> SemaphorePermit<'_> {
        if !on_goroutine()
            && let Some(permit) = self.try_acquire_many(n)
        {
            return permit;
        }
        let _guest = must_wait("acquire");
        let granted = AtomicU32::new(0);
        lock(&self.lock);
        let taken = self.take(n);
        if !taken {
            // SAFETY: the lock is held.
            unsafe { self.waiters() }.push_back(Waiter { n, granted: &granted });
        }
        unlock(&self.lock);
        if !taken {
            semacquire(&granted);
        }
        SemaphorePermit { semaphore: self, n }
    }

    /// Takes a permit if there is one and nobody waits.
    pub fn try_acquire(&self) -> Option<SemaphorePermit<'_>> {
        self.try_acquire_many(1)
    }

    /// Takes `n` permits at once if there are so many and nobody waits.
    pub fn try_acquire_many(&self, n: usize) -> Option<SemaphorePermit<'_>> {
        lock(&self.lock);
        let taken = self.take(n);
        unlock(&self.lock);
        taken.then(|| SemaphorePermit { semaphore: self, n })
    }

    /// Adds permits, for good.
    pub fn add_permits(&self, n: usize) {
        lock(&self.lock);
        self.permits.set(self.permits.get() + n);
        unlock(&self.lock);
        while let Some(granted) = self.grant() {
            // SAFETY: its goroutine sleeps there until this has added to it; then only the
            // address is used.
            semrelease(unsafe { &*granted });
        }
    }

    /// Takes permits for the first who waits, if there are enough, and says where it sleeps.
    fn grant(&self) -> Option<*const AtomicU32> {
        lock(&self.lock);
        // SAFETY: the lock is held.
        let waiters = unsafe { self.waiters() };
        let first = if waiters.front().is_some_and(|first| first.n <= self.permits.get()) {
            waiters.pop_front()
        } else {
            None
        };
        if let Some(first) = &first {
            self.permits.set(self.permits.get() - first.n);
        }
        unlock(&self.lock);
        first.map(|first| first.granted)
    }

    /// How many permits are free at this moment.
    pub fn available_permits(&self) -> usize {
        lock(&self.lock);
        let permits = self.permits.get();
        unlock(&self.lock);
        permits
    }
}

impl SemaphorePermit<'_> {
    /// Keeps the permits for good: the semaphore has fewer.
    pub fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for SemaphorePermit<'_> {
    fn drop(&mut self) {
        self.semaphore.add_permits(self.n);
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").field("permits", &self.available_permits()).finish()
    }
}

impl fmt::Debug for SemaphorePermit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SemaphorePermit").field("permits", &self.n).finish()
    }
}
