//! [`AcquireFuture`]: a semaphore in `async` code.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

use crate::runtime::{lock, tsan, unlock};
use crate::sync::semaphore::Waiter;
use crate::sync::{Semaphore, SemaphorePermit};

/// The future that [`Semaphore::acquire_async`] returns.
///
/// ```
/// use gosched::sync::{AcquireFuture, Semaphore};
///
/// gosched::run(|| {
///     let slots = Semaphore::new(1);
///     let future: AcquireFuture<'_> = slots.acquire_async();
///     let slot = gosched::block_on(future);
///     assert!(slots.try_acquire().is_none());
///     drop(slot);
/// });
/// ```
#[must_use = "futures do nothing unless they are polled"]
pub struct AcquireFuture<'a> {
    semaphore: &'a Semaphore,
    n: usize,
    /// Its node in the queue, or one that has left the queue: a box.
    waiter: Option<NonNull<Waiter>>,
}

// SAFETY: the waiter belongs to no thread, and its semaphore's lock protects it.
unsafe impl Send for AcquireFuture<'_> {}
// SAFETY: a shared AcquireFuture does nothing.
unsafe impl Sync for AcquireFuture<'_> {}

impl Semaphore {
    /// [`acquire`](Self::acquire) for `async` code. The future waits in the same queue as
    /// goroutines that want permits. No thread and no goroutine waits for it. It may be dropped at
    /// any time: permits that it has got go to the next waiter.
    ///
    /// ```
    /// use gosched::sync::Semaphore;
    ///
    /// gosched::run(|| {
    ///     let slots = Semaphore::new(1);
    ///     gosched::block_on(async {
    ///         let slot = slots.acquire_async().await;
    ///         assert_eq!(slots.available_permits(), 0);
    ///         drop(slot);
    ///     });
    /// });
    /// ```
    pub fn acquire_async(&self) -> AcquireFuture<'_> {
        self.acquire_many_async(1)
    }

    /// [`acquire_many`](Self::acquire_many) for `async` code, as
    /// [`acquire_async`](Self::acquire_async).
    ///
    /// ```
    /// use gosched::sync::Semaphore;
    ///
    /// gosched::run(|| {
    ///     let slots = Semaphore::new(3);
    ///     let two = gosched::block_on(slots.acquire_many_async(2));
    ///     assert_eq!(slots.available_permits(), 1);
    ///     drop(two);
    /// });
    /// ```
    pub fn acquire_many_async(&self, n: usize) -> AcquireFuture<'_> {
        AcquireFuture { semaphore: self, n, waiter: None }
    }
}

impl<'a> Future for AcquireFuture<'a> {
    type Output = SemaphorePermit<'a>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let semaphore = self.semaphore;
        let mut waker = Some(tsan::clone_waker(context.waker()));
        let Some(waiter) = self.waiter else {
            let waiter = NonNull::from(Box::leak(Box::new(Waiter::new(self.n, waker.take()))));
            // SAFETY: the waiter stays until it is taken off the queue: by drop, or before the
            // permits are there.
            if !semaphore.take_or_queue(unsafe { waiter.as_ref() }) {
                self.waiter = Some(waiter);
                return Poll::Pending;
            }
            // Made before the waker is dropped, which may panic.
            let permit = SemaphorePermit::new(semaphore, self.n);
            // SAFETY: the waiter is in no queue, and nobody else has it.
            drop(unsafe { Box::from_raw(waiter.as_ptr()) });
            return Poll::Ready(permit);
        };
        lock(&semaphore.lock);
        // SAFETY: the waiter is this future's, and stays until the future drops it; the lock is
        // held.
        let granted = unsafe {
            let granted = waiter.as_ref().granted();
            if !granted {
                waker = waiter.as_ref().waker.replace(waker);
            }
            granted
        };
        unlock(&semaphore.lock);
        // The waker's code may be anything, so it isn't dropped with the lock held.
        drop(waker);
        if !granted {
            return Poll::Pending;
        }
        self.waiter = None;
        // SAFETY: the waiter has left the queue, and nobody else has it.
        drop(unsafe { Box::from_raw(waiter.as_ptr()) });
        Poll::Ready(SemaphorePermit::new(semaphore, self.n))
    }
}

impl Drop for AcquireFuture<'_> {
    fn drop(&mut self) {
        let Some(waiter) = self.waiter else { return };
        // SAFETY: the waiter is this future's, and stays until the end of this function.
        let queued = self.semaphore.leave(unsafe { waiter.as_ref() });
        // Dropped at the end, because the waker's drop may panic, and others wait for the permits.
        // SAFETY: the waiter has left the queue, and nobody else has it.
        let _waiter = unsafe { Box::from_raw(waiter.as_ptr()) };
        self.semaphore.give_back(if queued { 0 } else { self.n });
    }
}

impl fmt::Debug for AcquireFuture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("AcquireFuture { .. }")
    }
}
