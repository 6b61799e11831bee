//! [`Semaphore`], and its future for `async` code.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use crate::goroutine::{wake, wake_elsewhere};
use crate::runtime::runtime2::Mutex;
use crate::runtime::{
    Limit, lock, must_wait, on_goroutine, point, semacquire, semrelease, tsan, unlock, unwind_to_run,
    with_limit_in_run,
};
use crate::sync::SemaphorePermit;
use crate::sync::wait_queue::{ToWake, WaitQueue, Waiter, wake_each};

/// A number of permits, which goroutines take and give back: Go's
/// `golang.org/x/sync/semaphore`, with tokio's names.
///
/// Requests are served in order: a request for many permits isn't starved by requests for few. A
/// request for more permits than there are in all, free or taken, waits forever and doesn't hold up
/// others, as in Go. Once [permits are added](Self::add_permits) more may follow, and each request
/// keeps its place.
///
/// A semaphore can be [closed](Self::close), as tokio's and unlike Go's. Programs that never close
/// one need no error, so [`acquire`](Self::acquire) has none.
///
/// ```
/// use gosched::sync::Semaphore;
///
/// static SLOTS: Semaphore = Semaphore::new(3);
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
/// });
/// ```
pub struct Semaphore {
    /// Protects the other fields. A runtime lock, so that permits can be given back on any thread.
    lock: Mutex,
    /// How many permits are free.
    permits: Cell<usize>,
    /// How many permits there are, free or taken. Because `total` doesn't overflow, giving back
    /// can't overflow.
    total: Cell<usize>,
    /// Whether permits were added since the semaphore was made. Then any number may be there one
    /// day.
    grows: Cell<bool>,
    closed: Cell<bool>,
    /// Empty if the semaphore is closed.
    queue: WaitQueue<Request>,
}

/// A request for `n` permits.
struct Request {
    n: usize,
    /// Whether its waiter was taken off the queue without permits, because the semaphore was
    /// closed.
    refused: Cell<bool>,
}

/// Makes a goroutine's waiter for `n` permits, or a future's if `waker` is given.
fn waiter_for(n: usize, waker: Option<Waker>) -> Waiter<Request> {
    Waiter::new(Request { n, refused: Cell::new(false) }, waker)
}

/// How a request begins.
#[derive(PartialEq)]
enum Begun {
    /// It has its permits.
    Taken,
    /// Its waiter is on the queue.
    Queued,
    /// The semaphore is closed.
    Refused,
}

// SAFETY: permits and queue belong to no thread, and a waiter on the queue may be woken from any.
unsafe impl Send for Semaphore {}
// SAFETY: permits, queue and links are accessed with the lock held.
unsafe impl Sync for Semaphore {}
// Nothing panics while the queue is changed.
impl UnwindSafe for Semaphore {}
impl RefUnwindSafe for Semaphore {}

impl Semaphore {
    /// Makes a semaphore with `permits` permits.
    ///
    /// ```
    /// use gosched::sync::Semaphore;
    ///
    /// static SLOTS: Semaphore = Semaphore::new(3);
    /// assert_eq!(SLOTS.available_permits(), 3);
    /// ```
    pub const fn new(permits: usize) -> Self {
        Semaphore {
            lock: Mutex::new(),
            permits: Cell::new(permits),
            total: Cell::new(permits),
            grows: Cell::new(false),
            closed: Cell::new(false),
            queue: WaitQueue::new(),
        }
    }

    /// The first waiter whose request can be met one day. The lock is held, and needed as long as
    /// the waiter is accessed.
    fn first_in_turn(&self) -> Option<&Waiter<Request>> {
        self.queue.iter().find(|waiter| self.grows.get() || waiter.request.n <= self.total.get())
    }

    /// Takes `n` permits if `n` are free, no request waits for its turn, and the semaphore isn't
    /// closed. The lock is held.
    fn take(&self, n: usize) -> bool {
        let free = !self.closed.get() && self.permits.get() >= n && self.first_in_turn().is_none();
        if free {
            self.permits.set(self.permits.get() - n);
        }
        free
    }

    /// Takes a permit. Waits until there is one.
    ///
    /// ```
    /// use gosched::sync::Semaphore;
    ///
    /// gosched::run(|| {
    ///     let slots = Semaphore::new(1);
    ///     let slot = slots.acquire();
    ///     gosched::scope(|s| {
    ///         let next = s.go(|| drop(slots.acquire())); // waits for the drop
    ///         drop(slot);
    ///         next.join().unwrap();
    ///     });
    /// });
    /// ```
    ///
    /// # Panics
    /// If the semaphore is closed, or is closed during the wait: in a program that closes it, use
    /// [`acquire_unless_closed`](Self::acquire_unless_closed), which returns an error. If it must
    /// wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn acquire(&self) -> SemaphorePermit<'_> {
        self.acquire_many(1)
    }

    /// Takes `n` permits at once. Waits until `n` are free. If there are fewer in all, it waits
    /// forever, unless some are [added](Self::add_permits). Under a context, it waits [until the
    /// context ends](crate::context::With::acquire_many), as in Go.
    ///
    /// ```
    /// use gosched::sync::Semaphore;
    ///
    /// let memory = Semaphore::new(1024);
    /// let large = memory.acquire_many(1000);
    /// assert_eq!(memory.available_permits(), 24);
    /// drop(large);
    /// ```
    ///
    /// # Panics
    /// As [`acquire`](Self::acquire).
    #[track_caller]
    pub fn acquire_many(&self, n: usize) -> SemaphorePermit<'_> {
        match self.acquire_many_unless_closed(n) {
            Ok(permit) => permit,
            Err(error) => panic!("gosched: acquire: {error}; acquire_unless_closed returns an error"),
        }
    }

    /// [`acquire`](Self::acquire) in a semaphore that may be [closed](Self::close). tokio's
    /// `acquire`.
    ///
    /// ```
    /// use gosched::sync::Semaphore;
    ///
    /// gosched::run(|| {
    ///     let slots = Semaphore::new(1);
    ///     gosched::scope(|s| {
    ///         s.go(|| {
    ///             while let Ok(_slot) = slots.acquire_unless_closed() {
    ///                 gosched::yield_now(); // work until there is no more
    ///             }
    ///         });
    ///         slots.close();
    ///     });
    /// });
    /// ```
    ///
    /// # Errors
    /// If the semaphore is closed, or is closed during the wait.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn acquire_unless_closed(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.acquire_many_unless_closed(1)
    }

    /// [`acquire_many`](Self::acquire_many) in a semaphore that may be [closed](Self::close).
    ///
    /// ```
    /// use gosched::sync::Semaphore;
    ///
    /// let memory = Semaphore::new(1024);
    /// assert!(memory.acquire_many_unless_closed(1000).is_ok());
    /// memory.close();
    /// assert!(memory.acquire_many_unless_closed(1000).is_err());
    /// ```
    ///
    /// # Errors
    /// If the semaphore is closed, or is closed during the wait.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn acquire_many_unless_closed(&self, n: usize) -> Result<SemaphorePermit<'_>, AcquireError> {
        if !on_goroutine()
            && let Some(result) = self.acquire_now(n)
        {
            return result;
        }
        let _guest = must_wait("acquire");
        self.acquire_limited(n, None).unwrap_or_else(|| unwind_to_run())
    }

    /// The result of a request that needs no wait: the permits are free, or the semaphore is
    /// closed.
    pub(crate) fn acquire_now(&self, n: usize) -> Option<Result<SemaphorePermit<'_>, AcquireError>> {
        match self.try_acquire_many(n) {
            Some(permit) => Some(Ok(permit)),
            None => self.is_closed().then_some(Err(AcquireError(()))),
        }
    }

    /// The result of a waiter that is off the queue and awake.
    fn outcome(&self, waiter: &Waiter<Request>) -> Result<SemaphorePermit<'_>, AcquireError> {
        let Request { n, refused } = &waiter.request;
        if refused.get() { Err(AcquireError(())) } else { Ok(SemaphorePermit::new(self, *n)) }
    }

    /// [`acquire_many_unless_closed`](Self::acquire_many_unless_closed) with a limit, on a
    /// goroutine. Returns none if the limit comes first.
    pub(crate) fn acquire_limited(
        &self,
        n: usize,
        limit: Option<Limit<'_>>,
    ) -> Option<Result<SemaphorePermit<'_>, AcquireError>> {
        let waiter = waiter_for(n, None);
        match self.take_or_queue(&waiter) {
            Begun::Taken => return Some(Ok(SemaphorePermit::new(self, n))),
            Begun::Refused => return Some(Err(AcquireError(()))),
            Begun::Queued => {}
        }
        let gave_up = Cell::new(false);
        let give_up = || {
            let queued = self.leave(&waiter);
            // If both a limit and the end of a run come, only one of them finds the waiter.
            if queued {
                gave_up.set(true);
            }
            queued.then_some(|| {
                // Futures are woken on goroutines of their own, because the caller, which ends this
                // wait, may have others to end.
                self.give_back_and(0, wake_elsewhere);
                // Done last: after this the waiter may be gone.
                semrelease(&waiter.woken);
            })
        };
        // SAFETY: the waiter's links are accessed with the lock held, and the flag is read later.
        // Only the caller that takes the waiter off the queue wakes it, so the waiter stays until
        // then.
        unsafe { with_limit_in_run(limit, &give_up, || semacquire(&waiter.woken)) };
        (!gave_up.get()).then(|| self.outcome(&waiter))
    }

    /// Takes the permits for `waiter` if enough are free and no request waits for its turn.
    /// Otherwise queues the waiter up, unless the semaphore is closed.
    fn take_or_queue(&self, waiter: &Waiter<Request>) -> Begun {
        point("acquire");
        lock(&self.lock);
        let begun = if self.closed.get() {
            Begun::Refused
        } else if self.take(waiter.request.n) {
            Begun::Taken
        } else {
            // SAFETY: the caller's waiter is new, and stays until it is off the queue, which needs
            // the lock.
            unsafe { self.queue.push_back(waiter) };
            Begun::Queued
        };
        unlock(&self.lock);
        begun
    }

    /// Takes a waiter off the queue, and returns whether it was there. Waiters behind it may want
    /// fewer permits: a caller that may wake them then gives back 0 permits.
    fn leave(&self, waiter: &Waiter<Request>) -> bool {
        lock(&self.lock);
        let queued = self.queue.remove(waiter);
        unlock(&self.lock);
        queued
    }

    /// Takes a permit if one is free, no request waits for its turn, and the semaphore isn't
    /// [closed](Self::close). [`is_closed`](Self::is_closed) says whether a later try may succeed.
    ///
    /// ```
    /// use gosched::sync::Semaphore;
    ///
    /// let slots = Semaphore::new(1);
    /// let slot = slots.try_acquire();
    /// assert!(slot.is_some() && slots.try_acquire().is_none());
    /// ```
    #[must_use = "dropping the permit gives it back"]
    pub fn try_acquire(&self) -> Option<SemaphorePermit<'_>> {
        self.try_acquire_many(1)
    }

    /// Takes `n` permits at once if `n` are free, no request waits for its turn, and the semaphore
    /// isn't [closed](Self::close).
    ///
    /// ```
    /// use gosched::sync::Semaphore;
    ///
    /// let slots = Semaphore::new(3);
    /// assert!(slots.try_acquire_many(4).is_none());
    /// assert!(slots.try_acquire_many(3).is_some());
    /// ```
    #[must_use = "dropping the permit gives it back"]
    pub fn try_acquire_many(&self, n: usize) -> Option<SemaphorePermit<'_>> {
        point("try_acquire");
        lock(&self.lock);
        let taken = self.take(n);
        unlock(&self.lock);
        taken.then(|| SemaphorePermit::new(self, n))
    }

    /// Adds permits, for good. From then on a request for more permits than there are in all keeps
    /// its place, and the others wait behind it, because more may be added.
    ///
    /// ```
    /// use gosched::sync::Semaphore;
    ///
    /// let slots = Semaphore::new(0); // nobody may go on yet
    /// slots.add_permits(3);
    /// assert_eq!(slots.available_permits(), 3);
    /// ```
    ///
    /// # Panics
    /// If the semaphore would have more than `usize::MAX` permits, taken ones included. Then it has
    /// as many as before.
    #[track_caller]
    pub fn add_permits(&self, n: usize) {
        lock(&self.lock);
        let total = self.total.get().checked_add(n);
        if let Some(total) = total {
            self.total.set(total);
            self.grows.set(true);
        }
        unlock(&self.lock);
        assert!(total.is_some(), "gosched: a Semaphore has usize::MAX permits at the most");
        self.give_back(n);
    }

    /// Gives back permits that were taken.
    pub(super) fn give_back(&self, n: usize) {
        self.give_back_and(n, wake);
    }

    /// [`give_back`](Self::give_back) with a function that wakes futures. `wake` is called when all
    /// waiters that get permits have them.
    fn give_back_and(&self, n: usize, wake: fn(Waker)) {
        point("release");
        lock(&self.lock);
        self.permits.set(self.permits.get() + n);
        unlock(&self.lock);
        wake_each(|| self.grant(), wake);
    }

    /// Forgets permits that were taken, so that there are fewer. A request for more than are left
    /// no longer holds up others.
    pub(super) fn forget(&self, n: usize) {
        lock(&self.lock);
        self.total.set(self.total.get() - n);
        unlock(&self.lock);
        self.give_back(0);
    }

    /// Takes permits for the first waiter whose turn it is, if enough are free.
    fn grant(&self) -> Option<ToWake> {
        lock(&self.lock);
        let first = self.first_in_turn().filter(|first| first.request.n <= self.permits.get());
        let granted = first.map(|first| {
            self.permits.set(self.permits.get() - first.request.n);
            self.queue.take_off(first)
        });
        unlock(&self.lock);
        granted
    }

    /// Closes the semaphore: no more permits are taken from it. All that wait for permits stop
    /// waiting, and get an error. Permits that are out stay valid. A second call does nothing.
    ///
    /// | | in a closed semaphore, also if permits are free |
    /// | --- | --- |
    /// | [`acquire_unless_closed`](Self::acquire_unless_closed) and the like, [`acquire_async`](Self::acquire_async) | an [`AcquireError`] |
    /// | [`ctx.with(&semaphore).acquire()`](crate::context::With::acquire) | [`AcquireContextError::Closed`](crate::context::AcquireContextError) |
    /// | [`try_acquire`](Self::try_acquire), [`acquire_timeout`](Self::acquire_timeout) and the like | `None`, at once |
    /// | [`acquire`](Self::acquire) and the like, which have no error | a panic |
    ///
    /// ```
    /// use gosched::sync::Semaphore;
    ///
    /// gosched::run(|| {
    ///     let slots = Semaphore::new(1);
    ///     let held = slots.acquire();
    ///     gosched::scope(|s| {
    ///         let waits = s.go(|| slots.acquire_unless_closed().is_err());
    ///         slots.close();
    ///         assert!(waits.join().unwrap());
    ///     });
    ///     drop(held); // is free, but nobody gets it
    ///     assert!(slots.available_permits() == 1 && slots.try_acquire().is_none());
    /// });
    /// ```
    pub fn close(&self) {
        point("close");
        lock(&self.lock);
        self.closed.set(true);
        unlock(&self.lock);
        wake_each(|| self.refuse(), wake);
    }

    /// Takes the first waiter off the queue of a closed semaphore.
    fn refuse(&self) -> Option<ToWake> {
        lock(&self.lock);
        let refused = self.queue.iter().next().map(|first| {
            first.request.refused.set(true);
            self.queue.take_off(first)
        });
        unlock(&self.lock);
        refused
    }

    /// Whether the semaphore was [closed](Self::close).
    ///
    /// ```
    /// let slots = gosched::sync::Semaphore::new(3);
    /// assert!(!slots.is_closed());
    /// slots.close();
    /// assert!(slots.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        point("is_closed");
        lock(&self.lock);
        let closed = self.closed.get();
        unlock(&self.lock);
        closed
    }

    /// How many permits are free at this moment.
    ///
    /// ```
    /// let slots = gosched::sync::Semaphore::new(3);
    /// let _slot = slots.acquire();
    /// println!("{} of 3 are free", slots.available_permits());
    /// ```
    pub fn available_permits(&self) -> usize {
        point("permits");
        lock(&self.lock);
        let permits = self.permits.get();
        unlock(&self.lock);
        permits
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").field("permits", &self.available_permits()).finish()
    }
}

/// The error of a request for permits of a [closed](Semaphore::close) [`Semaphore`].
///
/// ```
/// use gosched::sync::{AcquireError, Semaphore};
///
/// let slots = Semaphore::new(1);
/// slots.close();
/// let error: AcquireError = slots.acquire_unless_closed().unwrap_err();
/// assert_eq!(error.to_string(), "the semaphore is closed");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcquireError(());

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("the semaphore is closed")
    }
}

impl Error for AcquireError {}

/// The future that [`Semaphore::acquire_async`] returns.
///
/// ```
/// use gosched::sync::{AcquireFuture, Semaphore};
///
/// gosched::run(|| {
///     let slots = Semaphore::new(1);
///     let future: AcquireFuture<'_> = slots.acquire_async();
///     let slot = gosched::block_on(future).unwrap();
///     assert!(slots.try_acquire().is_none());
///     drop(slot);
/// });
/// ```
#[must_use = "futures do nothing unless they are polled"]
pub struct AcquireFuture<'a> {
    semaphore: &'a Semaphore,
    n: usize,
    /// Its node in the queue, or one that has left the queue: a box.
    waiter: Option<NonNull<Waiter<Request>>>,
}

// SAFETY: the waiter belongs to no thread, and its semaphore's lock protects it.
unsafe impl Send for AcquireFuture<'_> {}
// SAFETY: a shared AcquireFuture does nothing.
unsafe impl Sync for AcquireFuture<'_> {}

impl Semaphore {
    /// [`acquire`](Self::acquire) for `async` code. The future waits in the same queue as
    /// goroutines that want permits. No thread and no goroutine waits for it. It may be dropped at
    /// any time: permits that it has got go to the next waiter. Its result is an error if the
    /// semaphore is [closed](Self::close).
    ///
    /// ```
    /// use gosched::sync::Semaphore;
    ///
    /// gosched::run(|| {
    ///     let slots = Semaphore::new(1);
    ///     gosched::block_on(async {
    ///         let slot = slots.acquire_async().await.unwrap();
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
    ///     let two = gosched::block_on(slots.acquire_many_async(2)).unwrap();
    ///     assert_eq!(slots.available_permits(), 1);
    ///     drop(two);
    /// });
    /// ```
    pub fn acquire_many_async(&self, n: usize) -> AcquireFuture<'_> {
        AcquireFuture { semaphore: self, n, waiter: None }
    }
}

impl<'a> Future for AcquireFuture<'a> {
    type Output = Result<SemaphorePermit<'a>, AcquireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let semaphore = self.semaphore;
        let mut waker = Some(tsan::clone_waker(context.waker()));
        let Some(waiter) = self.waiter else {
            let waiter = NonNull::from(Box::leak(Box::new(waiter_for(self.n, waker.take()))));
            // SAFETY: the waiter stays until it is taken off the queue: by drop, or before the
            // permits are there.
            let begun = semaphore.take_or_queue(unsafe { waiter.as_ref() });
            if begun == Begun::Queued {
                self.waiter = Some(waiter);
                return Poll::Pending;
            }
            // Made before the waker is dropped, which may panic.
            let permit = (begun == Begun::Taken).then(|| SemaphorePermit::new(semaphore, self.n));
            // SAFETY: the waiter is in no queue, and nobody else has it.
            drop(unsafe { Box::from_raw(waiter.as_ptr()) });
            return Poll::Ready(permit.ok_or(AcquireError(())));
        };
        // SAFETY: the waiter is this future's, and stays until the future drops it.
        let this = unsafe { waiter.as_ref() };
        lock(&semaphore.lock);
        let woken = !semaphore.queue.contains(this);
        if !woken {
            waker = this.waker.replace(waker);
        }
        unlock(&semaphore.lock);
        // The waker's code may be anything, so it isn't dropped with the lock held.
        drop(waker);
        if !woken {
            return Poll::Pending;
        }
        self.waiter = None;
        let outcome = semaphore.outcome(this);
        // SAFETY: the waiter has left the queue, and nobody else has it.
        drop(unsafe { Box::from_raw(waiter.as_ptr()) });
        Poll::Ready(outcome)
    }
}

impl Drop for AcquireFuture<'_> {
    fn drop(&mut self) {
        let Some(waiter) = self.waiter else { return };
        // SAFETY: the waiter is this future's, and stays until the end of this function.
        let this = unsafe { waiter.as_ref() };
        let queued = self.semaphore.leave(this);
        let unused = if queued || this.request.refused.get() { 0 } else { self.n };
        // Dropped at the end, because the waker's drop may panic, and others wait for the permits.
        // SAFETY: the waiter has left the queue, and nobody else has it.
        let _waiter = unsafe { Box::from_raw(waiter.as_ptr()) };
        self.semaphore.give_back(unused);
    }
}

impl fmt::Debug for AcquireFuture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("AcquireFuture { .. }")
    }
}
