//! [`Mutex`].

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::sync::raw_mutex::RawMutex;

/// A lock around a value. Go's `sync.Mutex`: one atomic operation when it is free, and handed over in
/// order once a goroutine has waited for a millisecond.
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
    raw: RawMutex,
    value: UnsafeCell<T>,
}

// SAFETY: the mutex owns its value, which may be sent.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: only the holder of the lock reaches the value, so sharing the mutex sends the value to and fro.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// Access to the value of a locked [`Mutex`]; dropping it unlocks. It is `Send`: its goroutine may go on on
/// another thread.
#[must_use = "dropping the guard unlocks the mutex"]
pub struct MutexGuard<'a, T: ?Sized> {
    /// Invariant in `T`, as the mutex is by its cell: what is written by a guard is read by others.
    mutex: &'a Mutex<T>,
    /// `Sync` needs a `T` that is: a shared guard gives `&T`.
    value: PhantomData<&'a mut T>,
}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub const fn new(value: T) -> Self {
        Mutex { raw: RawMutex::new(), value: UnsafeCell::new(value) }
    }

    /// The value; the mutex is gone.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks; waits until the mutex is free. Go's `Lock`.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.raw.lock();
        MutexGuard { mutex: self, value: PhantomData }
    }

    /// Locks if the mutex is free. Go's `TryLock`.
    #[must_use = "dropping the guard unlocks the mutex"]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.raw.try_lock().then(|| MutexGuard { mutex: self, value: PhantomData })
    }

    /// The value. There is no need to lock: `&mut` says that nobody else has the mutex.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// The guard's mutex.
    pub(crate) fn mutex(&self) -> &'a Mutex<T> {
        self.mutex
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the mutex is locked as long as the guard lives, and only its guard reaches the value.
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
