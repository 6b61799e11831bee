//! [`Semaphore`].

use std::cell::{Cell, UnsafeCell};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::fmt;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use crate::lock::{lock, unlock};
use crate::proc::park::on_goroutine;
use crate::runtime2::{Mutex, Timer};
use crate::sema::{semacquire, semrelease};
use crate::time::{channel, nanos};
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
    /// If it would have to wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn acquire(&self) -> SemaphorePermit<'_> {
        self.acquire_many(1)
    }

    /// Takes `n` permits at once; waits until there are so many.
    ///
    /// # Panics
    /// If it would have to wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn acquire_many(&self, n: usize) -> SemaphorePermit<'_> {
        if !on_goroutine()
            && let Some(permit) = self.try_acquire_many(n)
        {
            return permit;
        }
        let _guest = must_wait("acquire");
        let granted = AtomicU32::new(0);
        if !self.take_or_queue(n, &granted) {
            semacquire(&granted);
        }
        SemaphorePermit { semaphore: self, n }
    }

    /// Takes a permit; waits until there is one, or `timeout` is over, and then has none.
    ///
    /// # Panics
    /// If it would have to wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn acquire_timeout(&self, timeout: Duration) -> Option<SemaphorePermit<'_>> {
        self.acquire_many_timeout(1, timeout)
    }

    /// Takes `n` permits at once; waits until there are so many, or `timeout` is over, and then has
    /// none.
    ///
    /// # Panics
    /// If it would have to wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn acquire_many_timeout(&self, n: usize, timeout: Duration) -> Option<SemaphorePermit<'_>> {
        if !on_goroutine()
            && let Some(permit) = self.try_acquire_many(n)
        {
            return Some(permit);
        }
        let _guest = must_wait("acquire_timeout");
        let wait = TimedWait { semaphore: self, granted: AtomicU32::new(0), over: Cell::new(false) };
        if !self.take_or_queue(n, &wait.granted) {
            let until = channel::when(nanos(timeout));
            let timer = channel::start(until, 0, give_up, std::ptr::from_ref(&wait).cast_mut().cast());
            semacquire(&wait.granted);
            channel::end(timer);
            if wait.over.get() {
                return None;
            }
        }
        Some(SemaphorePermit { semaphore: self, n })
    }

    /// Takes `n` permits if there are so many and nobody waits, and says whether it did; otherwise
    /// queues up for them.
    fn take_or_queue(&self, n: usize, granted: &AtomicU32) -> bool {
        lock(&self.lock);
        let taken = self.take(n);
        if !taken {
            // SAFETY: the lock is held.
            unsafe { self.waiters() }.push_back(Waiter { n, granted });
        }
        unlock(&self.lock);
        taken
    }

    /// Takes the one who sleeps at `granted` off the queue, if it is there: others may have waited
    /// behind it for less.
    fn leave(&self, granted: &AtomicU32) -> bool {
        lock(&self.lock);
        // SAFETY: the lock is held.
        let waiters = unsafe { self.waiters() };
        let place = waiters.iter().position(|waiter| std::ptr::eq(waiter.granted, granted));
        if let Some(place) = place {
            waiters.remove(place);
        }
        unlock(&self.lock);
        if place == Some(0) {
            self.add_permits(0);
        }
        place.is_some()
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

/// What a wait with a time limit and its timer know of each other; on the stack of the one that
/// waits.
struct TimedWait<'a> {
    semaphore: &'a Semaphore,
    /// Released when the permits are granted, or when the time is over: by who has taken the wait off
    /// the queue.
    granted: AtomicU32,
    /// It was the latter; set before the release.
    over: Cell<bool>,
}

/// The time of a [`TimedWait`] is over: wakes who waits, if nothing was granted.
unsafe extern "C" fn give_up(t: *mut c_void, seq: usize) {
    // SAFETY: `start` passes the timer, which is never freed.
    let t = unsafe { &*t.cast::<Timer>() };
    channel::fire(t, seq, |wait| {
        // SAFETY: it stays until the timer has ended.
        let wait = unsafe { &*wait.cast::<TimedWait<'_>>() };
        if wait.semaphore.leave(&wait.granted) {
            wait.over.set(true);
            semrelease(&wait.granted);
        }
    });
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
