//! [`SemaphorePermit`] and [`OwnedSemaphorePermit`]: what a [`Semaphore`] gives.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use crate::sync::Semaphore;

/// Permits of a [`Semaphore`]; dropping it gives them back.
#[must_use = "dropping the permit gives it back"]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    n: usize,
}

/// Permits of a [`Semaphore`] in an `Arc`, which they keep: they may go where nothing can be borrowed, as into
/// a goroutine. Dropping it gives them back. [`acquire_owned`](Semaphore::acquire_owned) makes it.
#[must_use = "dropping the permit gives it back"]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    n: usize,
}

impl<'a> SemaphorePermit<'a> {
    /// `n` permits that were taken of `semaphore`.
    pub(super) fn new(semaphore: &'a Semaphore, n: usize) -> Self {
        SemaphorePermit { semaphore, n }
    }

    /// Keeps the permits for good: the semaphore has fewer.
    pub fn forget(self) {
        self.semaphore.forget(self.n);
        mem::forget(self);
    }
}

impl OwnedSemaphorePermit {
    /// Keeps the permits for good: the semaphore has fewer.
    pub fn forget(mut self) {
        self.semaphore.forget(mem::take(&mut self.n));
    }
}

impl Semaphore {
    /// [`acquire`](Self::acquire) of a permit that keeps the semaphore. The words are tokio's.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::Semaphore;
    ///
    /// gosched::run(|| {
    ///     let slots = Arc::new(Semaphore::new(3));
    ///     for _ in 0..100 {
    ///         // Here, not in the goroutine: no more than three are made at a time.
    ///         let slot = slots.clone().acquire_owned();
    ///         gosched::go(move || {
    ///             let _slot = slot;
    ///             gosched::yield_now();
    ///         });
    ///     }
    /// });
    /// ```
    ///
    /// # Panics
    /// If it would have to wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn acquire_owned(self: Arc<Self>) -> OwnedSemaphorePermit {
        self.acquire_many_owned(1)
    }

    /// [`acquire_many`](Self::acquire_many) of permits that keep the semaphore.
    ///
    /// # Panics
    /// If it would have to wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn acquire_many_owned(self: Arc<Self>, n: usize) -> OwnedSemaphorePermit {
        mem::forget(self.acquire_many(n));
        OwnedSemaphorePermit { semaphore: self, n }
    }

    /// [`acquire_timeout`](Self::acquire_timeout) of a permit that keeps the semaphore.
    ///
    /// # Panics
    /// If it would have to wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[must_use = "dropping the permit gives it back"]
    #[track_caller]
    pub fn acquire_owned_timeout(self: Arc<Self>, timeout: Duration) -> Option<OwnedSemaphorePermit> {
        self.acquire_many_owned_timeout(1, timeout)
    }

    /// [`acquire_many_timeout`](Self::acquire_many_timeout) of permits that keep the semaphore.
    ///
    /// # Panics
    /// If it would have to wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[must_use = "dropping the permit gives it back"]
    #[track_caller]
    pub fn acquire_many_owned_timeout(
        self: Arc<Self>,
        n: usize,
        timeout: Duration,
    ) -> Option<OwnedSemaphorePermit> {
        mem::forget(self.acquire_many_timeout(n, timeout)?);
        Some(OwnedSemaphorePermit { semaphore: self, n })
    }

    /// [`try_acquire`](Self::try_acquire) of a permit that keeps the semaphore.
    #[must_use = "dropping the permit gives it back"]
    pub fn try_acquire_owned(self: Arc<Self>) -> Option<OwnedSemaphorePermit> {
        self.try_acquire_many_owned(1)
    }

    /// [`try_acquire_many`](Self::try_acquire_many) of permits that keep the semaphore.
    #[must_use = "dropping the permit gives it back"]
    pub fn try_acquire_many_owned(self: Arc<Self>, n: usize) -> Option<OwnedSemaphorePermit> {
        mem::forget(self.try_acquire_many(n)?);
        Some(OwnedSemaphorePermit { semaphore: self, n })
    }
}

impl Drop for SemaphorePermit<'_> {
    fn drop(&mut self) {
        self.semaphore.give_back(self.n);
    }
}

impl Drop for OwnedSemaphorePermit {
    fn drop(&mut self) {
        self.semaphore.give_back(self.n);
    }
}

impl fmt::Debug for SemaphorePermit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SemaphorePermit").field("permits", &self.n).finish()
    }
}

impl fmt::Debug for OwnedSemaphorePermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedSemaphorePermit").field("permits", &self.n).finish()
    }
}
