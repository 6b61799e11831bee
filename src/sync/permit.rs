//! [`SemaphorePermit`] and [`OwnedSemaphorePermit`]: permits of a [`Semaphore`].

use std::fmt;
use std::mem;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use crate::runtime::{Limit, end_with_run, must_wait, nanos, on_goroutine, when};
use crate::sync::{AcquireError, Semaphore};

/// Permits of a [`Semaphore`]. Dropping it gives them back.
///
/// ```
/// use gosched::sync::Semaphore;
///
/// let slots = Semaphore::new(3);
/// let permit = slots.try_acquire_many(2).unwrap();
/// assert_eq!(slots.available_permits(), 1);
/// drop(permit);
/// assert_eq!(slots.available_permits(), 3);
/// ```
#[must_use = "dropping the permit gives it back"]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    n: usize,
}

/// Permits of a [`Semaphore`] in an `Arc`, which they keep. So they can go where nothing can be
/// borrowed, for example into a goroutine. Dropping it gives them back.
/// [`acquire_owned`](Semaphore::acquire_owned) makes it.
///
/// ```
/// use std::sync::Arc;
/// use gosched::sync::{OwnedSemaphorePermit, Semaphore};
///
/// struct Connection {
///     _slot: OwnedSemaphorePermit,
/// }
///
/// let slots = Arc::new(Semaphore::new(1));
/// let connection = Connection { _slot: slots.clone().acquire_owned() };
/// assert!(slots.try_acquire().is_none());
/// drop(connection);
/// assert!(slots.try_acquire().is_some());
/// ```
#[must_use = "dropping the permit gives it back"]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    n: usize,
}

impl<'a> SemaphorePermit<'a> {
    /// `n` permits that were taken from `semaphore`.
    pub(super) fn new(semaphore: &'a Semaphore, n: usize) -> Self {
        SemaphorePermit { semaphore, n }
    }

    /// Keeps the permits for good: the semaphore has fewer.
    ///
    /// ```
    /// use gosched::sync::Semaphore;
    ///
    /// let slots = Semaphore::new(3);
    /// slots.acquire().forget(); // from now on there are two
    /// assert_eq!(slots.available_permits(), 2);
    /// ```
    pub fn forget(self) {
        let (semaphore, n) = (self.semaphore, self.n);
        mem::forget(self);
        semaphore.forget(n);
    }

    /// How many permits these are.
    ///
    /// ```
    /// let slots = gosched::sync::Semaphore::new(3);
    /// assert_eq!(slots.acquire_many(2).num_permits(), 2);
    /// ```
    pub fn num_permits(&self) -> usize {
        self.n
    }

    /// The semaphore from which they were taken.
    pub fn semaphore(&self) -> &'a Semaphore {
        self.semaphore
    }

    /// Takes `n` permits out of these. Returns none if there are fewer.
    ///
    /// ```
    /// use gosched::sync::Semaphore;
    ///
    /// let slots = Semaphore::new(3);
    /// let mut all = slots.acquire_many(3);
    /// drop(all.split(2));
    /// assert_eq!((all.num_permits(), slots.available_permits()), (1, 2));
    /// assert!(all.split(2).is_none());
    /// ```
    #[must_use = "dropping the permits gives them back"]
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.n = self.n.checked_sub(n)?;
        Some(SemaphorePermit::new(self.semaphore, n))
    }

    /// Adds permits of the same semaphore to these.
    ///
    /// ```
    /// use gosched::sync::Semaphore;
    ///
    /// let slots = Semaphore::new(3);
    /// let mut two = slots.acquire();
    /// two.merge(slots.acquire());
    /// assert_eq!(two.num_permits(), 2);
    /// ```
    ///
    /// # Panics
    /// If they are of another semaphore, to which they go back.
    #[track_caller]
    pub fn merge(&mut self, other: Self) {
        assert!(ptr::eq(self.semaphore, other.semaphore), "{OTHERS}");
        self.n += other.n;
        mem::forget(other);
    }
}

/// The message of a merge with permits of another semaphore.
const OTHERS: &str = "gosched: merge: the permits are of another Semaphore";

impl OwnedSemaphorePermit {
    /// Keeps the permits for good: the semaphore has fewer.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::Semaphore;
    ///
    /// let slots = Arc::new(Semaphore::new(3));
    /// slots.clone().acquire_owned().forget(); // from now on there are two
    /// assert_eq!(slots.available_permits(), 2);
    /// ```
    pub fn forget(mut self) {
        self.semaphore.forget(mem::take(&mut self.n));
    }

    /// How many permits these are.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::Semaphore;
    ///
    /// let slots = Arc::new(Semaphore::new(3));
    /// assert_eq!(slots.acquire_many_owned(2).num_permits(), 2);
    /// ```
    pub fn num_permits(&self) -> usize {
        self.n
    }

    /// The semaphore from which they were taken.
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }

    /// Takes `n` permits out of these. Returns none if there are fewer.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::Semaphore;
    ///
    /// let slots = Arc::new(Semaphore::new(3));
    /// let mut all = slots.clone().acquire_many_owned(3);
    /// drop(all.split(2));
    /// assert_eq!((all.num_permits(), slots.available_permits()), (1, 2));
    /// ```
    #[must_use = "dropping the permits gives them back"]
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.n = self.n.checked_sub(n)?;
        Some(OwnedSemaphorePermit { semaphore: self.semaphore.clone(), n })
    }

    /// Adds permits of the same semaphore to these.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::Semaphore;
    ///
    /// let slots = Arc::new(Semaphore::new(3));
    /// let mut two = slots.clone().acquire_owned();
    /// two.merge(slots.acquire_owned());
    /// assert_eq!(two.num_permits(), 2);
    /// ```
    ///
    /// # Panics
    /// If they are of another semaphore, to which they go back.
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        assert!(Arc::ptr_eq(&self.semaphore, &other.semaphore), "{OTHERS}");
        self.n += mem::take(&mut other.n);
    }
}

impl Semaphore {
    /// Takes a permit. Waits until there is one, and returns `None` if `timeout` is over first, or
    /// if the semaphore is or becomes [closed](Self::close).
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::sync::Semaphore;
    ///
    /// gosched::run(|| {
    ///     let slots = Semaphore::new(1);
    ///     let slot = slots.acquire();
    ///     assert!(slots.acquire_timeout(Duration::from_millis(1)).is_none());
    ///     drop(slot);
    ///     assert!(slots.acquire_timeout(Duration::from_millis(1)).is_some());
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    #[must_use = "dropping the permit gives it back"]
    pub fn acquire_timeout(&self, timeout: Duration) -> Option<SemaphorePermit<'_>> {
        self.acquire_many_timeout(1, timeout)
    }

    /// Takes `n` permits at once. Waits until `n` are free, and returns `None` if `timeout` is over
    /// first, or if the semaphore is or becomes [closed](Self::close).
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::sync::Semaphore;
    ///
    /// gosched::run(|| {
    ///     let slots = Semaphore::new(3);
    ///     assert!(slots.acquire_many_timeout(4, Duration::from_millis(1)).is_none());
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    #[must_use = "dropping the permit gives it back"]
    pub fn acquire_many_timeout(&self, n: usize, timeout: Duration) -> Option<SemaphorePermit<'_>> {
        if !on_goroutine()
            && let Some(result) = self.acquire_now(n)
        {
            return result.ok();
        }
        let _guest = must_wait("acquire_timeout");
        let acquired = self.acquire_limited(n, Some(Limit::Time(when(nanos(timeout)))));
        if acquired.is_none() {
            end_with_run();
        }
        acquired?.ok()
    }

    /// [`acquire`](Self::acquire) of a permit that keeps the semaphore. The name is tokio's.
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
    /// As [`acquire`](Self::acquire).
    #[track_caller]
    pub fn acquire_owned(self: Arc<Self>) -> OwnedSemaphorePermit {
        self.acquire_many_owned(1)
    }

    /// [`acquire_many`](Self::acquire_many) of permits that keep the semaphore.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::Semaphore;
    ///
    /// gosched::run(|| {
    ///     let memory = Arc::new(Semaphore::new(1024));
    ///     let share = memory.clone().acquire_many_owned(512);
    ///     let worker = gosched::go(move || drop(share));
    ///     worker.join().unwrap();
    ///     assert_eq!(memory.available_permits(), 1024);
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`acquire`](Self::acquire).
    #[track_caller]
    pub fn acquire_many_owned(self: Arc<Self>, n: usize) -> OwnedSemaphorePermit {
        mem::forget(self.acquire_many(n));
        OwnedSemaphorePermit { semaphore: self, n }
    }

    /// [`acquire_unless_closed`](Self::acquire_unless_closed) of a permit that keeps the semaphore.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::Semaphore;
    ///
    /// let slots = Arc::new(Semaphore::new(1));
    /// let slot = slots.clone().acquire_owned_unless_closed().unwrap();
    /// slots.close();
    /// drop(slot);
    /// assert!(slots.acquire_owned_unless_closed().is_err());
    /// ```
    ///
    /// # Errors
    /// If the semaphore is closed, or is closed during the wait.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn acquire_owned_unless_closed(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.acquire_many_owned_unless_closed(1)
    }

    /// [`acquire_many_unless_closed`](Self::acquire_many_unless_closed) of permits that keep the
    /// semaphore.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::Semaphore;
    ///
    /// let memory = Arc::new(Semaphore::new(1024));
    /// let share = memory.clone().acquire_many_owned_unless_closed(1000).unwrap();
    /// assert_eq!(memory.available_permits(), 24);
    /// drop(share);
    /// ```
    ///
    /// # Errors
    /// If the semaphore is closed, or is closed during the wait.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn acquire_many_owned_unless_closed(
        self: Arc<Self>,
        n: usize,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        mem::forget(self.acquire_many_unless_closed(n)?);
        Ok(OwnedSemaphorePermit { semaphore: self, n })
    }

    /// [`acquire_timeout`](Self::acquire_timeout) of a permit that keeps the semaphore.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use gosched::sync::Semaphore;
    ///
    /// gosched::run(|| {
    ///     let slots = Arc::new(Semaphore::new(1));
    ///     let _slot = slots.clone().acquire_owned();
    ///     assert!(slots.acquire_owned_timeout(Duration::from_millis(1)).is_none());
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[must_use = "dropping the permit gives it back"]
    #[track_caller]
    pub fn acquire_owned_timeout(self: Arc<Self>, timeout: Duration) -> Option<OwnedSemaphorePermit> {
        self.acquire_many_owned_timeout(1, timeout)
    }

    /// [`acquire_many_timeout`](Self::acquire_many_timeout) of permits that keep the semaphore.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use gosched::sync::Semaphore;
    ///
    /// gosched::run(|| {
    ///     let slots = Arc::new(Semaphore::new(3));
    ///     assert!(slots.clone().acquire_many_owned_timeout(4, Duration::from_millis(1)).is_none());
    ///     assert!(slots.acquire_many_owned_timeout(3, Duration::from_millis(1)).is_some());
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
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
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::Semaphore;
    ///
    /// gosched::run(|| {
    ///     let slots = Arc::new(Semaphore::new(1));
    ///     match slots.try_acquire_owned() {
    ///         Some(slot) => drop(gosched::go(move || drop(slot))),
    ///         None => println!("come back later"),
    ///     }
    /// });
    /// ```
    #[must_use = "dropping the permit gives it back"]
    pub fn try_acquire_owned(self: Arc<Self>) -> Option<OwnedSemaphorePermit> {
        self.try_acquire_many_owned(1)
    }

    /// [`try_acquire_many`](Self::try_acquire_many) of permits that keep the semaphore.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::Semaphore;
    ///
    /// let slots = Arc::new(Semaphore::new(3));
    /// let two = slots.clone().try_acquire_many_owned(2).unwrap();
    /// assert!(slots.clone().try_acquire_many_owned(2).is_none());
    /// drop(two);
    /// assert!(slots.try_acquire_many_owned(2).is_some());
    /// ```
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
