//! [`Mutex`].

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::runtime::{Limit, end_with_run, must_wait, nanos, when};
use crate::sync::raw_mutex::RawMutex;

/// A lock around a value. Go's `sync.Mutex`: locking takes one atomic operation when it is free.
/// Once a goroutine has waited for a millisecond, the lock is handed over in order.
///
/// ```
/// use gosched::sync::Mutex;
///
/// static COUNT: Mutex<u32> = Mutex::new(0);
/// gosched::run(|| {
///     gosched::scope(|s| {
///         for _ in 0..10 {
///             s.go(|| *COUNT.lock() += 1);
///         }
///     });
///     assert_eq!(*COUNT.lock(), 10);
/// });
/// ```
pub struct Mutex<T: ?Sized> {
    pub(super) raw: RawMutex,
    pub(super) value: UnsafeCell<T>,
}

// SAFETY: the mutex owns its value, which may be sent.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: only the holder of the lock reaches the value, so sharing the mutex sends the value to
// and fro.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// Access to the value of a locked [`Mutex`]; dropping it unlocks. It is `Send`, because its
/// goroutine may go on on another thread.
///
/// ```
/// use gosched::sync::{Mutex, MutexGuard};
///
/// fn add(mut count: MutexGuard<'_, u32>) {
///     *count += 1;
/// } // and unlocks
///
/// let count = Mutex::new(6);
/// add(count.lock());
/// assert_eq!(*count.lock(), 7);
/// ```
#[must_use = "dropping the guard unlocks the mutex"]
pub struct MutexGuard<'a, T: ?Sized> {
    /// Invariant in `T`, as the mutex is by its cell: other guards read the values that this one
    /// writes.
    mutex: &'a Mutex<T>,
    /// `Sync` only if `T` is: a shared guard gives `&T`.
    value: PhantomData<&'a mut T>,
}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    ///
    /// ```
    /// use gosched::sync::Mutex;
    ///
    /// static NAMES: Mutex<Vec<&str>> = Mutex::new(Vec::new());
    ///
    /// NAMES.lock().push("gopher");
    /// assert_eq!(NAMES.lock().len(), 1);
    /// ```
    pub const fn new(value: T) -> Self {
        Mutex { raw: RawMutex::new(), value: UnsafeCell::new(value) }
    }

    /// Consumes the mutex, and returns its value.
    ///
    /// ```
    /// use gosched::sync::Mutex;
    ///
    /// gosched::run(|| {
    ///     let squares = Mutex::new(Vec::new());
    ///     gosched::scope(|s| {
    ///         for i in [1, 2, 3] {
    ///             let squares = &squares;
    ///             s.go(move || squares.lock().push(i * i));
    ///         }
    ///     });
    ///     let mut squares = squares.into_inner();
    ///     squares.sort();
    ///     assert_eq!(squares, [1, 4, 9]);
    /// });
    /// ```
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks; waits until the mutex is free. Go's `Lock`.
    ///
    /// ```
    /// use gosched::sync::Mutex;
    ///
    /// let stack = Mutex::new(vec![1, 2, 3]);
    /// let last = stack.lock().pop(); // locked for this statement
    /// let mut guard = stack.lock(); // and now until the guard is dropped
    /// guard.extend(last);
    /// assert_eq!(*guard, [1, 2, 3]);
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.raw.lock();
        MutexGuard { mutex: self, value: PhantomData }
    }

    /// Locks; waits until the mutex is free. Returns `None` if `timeout` is over first. Under a
    /// context it is [`ctx.with(&mutex).lock()`](crate::context::With::lock).
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::sync::Mutex;
    ///
    /// static COUNT: Mutex<u32> = Mutex::new(0);
    /// gosched::run(|| {
    ///     let held = COUNT.lock();
    ///     assert!(COUNT.lock_timeout(Duration::from_millis(1)).is_none());
    ///     drop(held);
    ///     assert_eq!(*COUNT.lock_timeout(Duration::from_secs(60)).unwrap(), 0);
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    #[must_use = "dropping the guard unlocks the mutex"]
    pub fn lock_timeout(&self, timeout: Duration) -> Option<MutexGuard<'_, T>> {
        if let Some(guard) = self.try_lock() {
            return Some(guard);
        }
        let _guest = must_wait("lock_timeout");
        let guard = self.lock_limited(Some(Limit::Time(when(nanos(timeout)))));
        if guard.is_none() {
            end_with_run();
        }
        guard
    }

    /// [`lock`](Self::lock) with a limit, on a goroutine.
    pub(crate) fn lock_limited(&self, limit: Option<Limit<'_>>) -> Option<MutexGuard<'_, T>> {
        self.raw.lock_limited(limit).then(|| MutexGuard { mutex: self, value: PhantomData })
    }

    /// Locks if the mutex is free. Go's `TryLock`.
    ///
    /// ```
    /// use gosched::sync::Mutex;
    ///
    /// let cache = Mutex::new(String::from("old"));
    /// let guard = cache.lock();
    /// assert!(cache.try_lock().is_none());
    /// drop(guard);
    /// assert_eq!(*cache.try_lock().unwrap(), "old");
    /// ```
    #[must_use = "dropping the guard unlocks the mutex"]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.raw.try_lock().then(|| MutexGuard { mutex: self, value: PhantomData })
    }

    /// Unlocks in place of a guard that was forgotten.
    ///
    /// # Safety
    /// There is such a guard, and each guard is used for one call.
    pub(crate) unsafe fn force_unlock(&self) {
        self.raw.unlock();
    }

    /// The value. It needs no lock: `&mut` says that nobody else has the mutex.
    ///
    /// ```
    /// use gosched::sync::Mutex;
    ///
    /// let mut count = Mutex::new(6);
    /// *count.get_mut() += 1;
    /// assert_eq!(count.into_inner(), 7);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// The guard's mutex. This is a function, not a method, because the value may have a method of
    /// this name.
    ///
    /// ```
    /// use gosched::sync::{Mutex, MutexGuard};
    ///
    /// fn lock_again<'a>(guard: MutexGuard<'a, u32>) -> MutexGuard<'a, u32> {
    ///     let mutex = MutexGuard::mutex(&guard);
    ///     drop(guard);
    ///     mutex.lock()
    /// }
    ///
    /// let count = Mutex::new(7);
    /// assert_eq!(*lock_again(count.lock()), 7);
    /// ```
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.mutex
    }

    /// Forgets the guard, and returns what the caller is to unlock in its place.
    pub(super) fn into_raw(self) -> &'a RawMutex {
        &ManuallyDrop::new(self).mutex.raw
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the mutex is locked as long as the guard lives, and only its guard reaches the
        // value.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in deref, and the guard is borrowed mutably.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.raw.unlock();
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Mutex::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Mutex");
        match self.try_lock() {
            Some(guard) => out.field("data", &&*guard),
            None => out.field("data", &format_args!("<locked>")),
        };
        out.finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
