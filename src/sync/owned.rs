//! Guards that keep their lock: [`OwnedMutexGuard`], [`OwnedRwLockReadGuard`] and
//! [`OwnedRwLockWriteGuard`].

use std::fmt;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use crate::sync::{Mutex, RwLock};

/// A [`MutexGuard`](crate::sync::MutexGuard) of a [`Mutex`] in an `Arc`, which it keeps. So it can
/// go where nothing can be borrowed, for example into a goroutine. Dropping it unlocks.
/// [`Mutex::lock_owned`] makes it.
///
/// ```
/// use std::sync::Arc;
/// use gosched::sync::{Mutex, OwnedMutexGuard};
///
/// gosched::run(|| {
///     let log = Arc::new(Mutex::new(vec!["begin"]));
///     let mut guard: OwnedMutexGuard<Vec<&str>> = log.clone().lock_owned();
///     let writer = gosched::go(move || guard.push("end")); // and unlocks
///     writer.join().unwrap();
///     assert_eq!(*log.lock(), ["begin", "end"]);
/// });
/// ```
#[must_use = "dropping the guard unlocks the mutex"]
pub struct OwnedMutexGuard<T: ?Sized> {
    mutex: Arc<Mutex<T>>,
    /// `Sync` only if `T` is: a shared guard gives `&T`.
    value: PhantomData<T>,
}

/// An [`RwLockReadGuard`](crate::sync::RwLockReadGuard) of an [`RwLock`] in an `Arc`, which it
/// keeps. Dropping it unlocks. [`RwLock::read_owned`] makes it.
///
/// ```
/// use std::sync::Arc;
/// use gosched::sync::{OwnedRwLockReadGuard, RwLock};
///
/// gosched::run(|| {
///     let prices = Arc::new(RwLock::new(vec![5, 7]));
///     let guard: OwnedRwLockReadGuard<Vec<u32>> = prices.read_owned();
///     let sum = gosched::go(move || guard.iter().sum::<u32>());
///     assert_eq!(sum.join().unwrap(), 12);
/// });
/// ```
#[must_use = "dropping the guard unlocks the lock"]
pub struct OwnedRwLockReadGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
}

/// An [`RwLockWriteGuard`](crate::sync::RwLockWriteGuard) of an [`RwLock`] in an `Arc`, which it
/// keeps. Dropping it unlocks. [`RwLock::write_owned`] makes it.
///
/// ```
/// use std::sync::Arc;
/// use gosched::sync::{OwnedRwLockWriteGuard, RwLock};
///
/// gosched::run(|| {
///     let prices = Arc::new(RwLock::new(vec![5, 7]));
///     let mut guard: OwnedRwLockWriteGuard<Vec<u32>> = prices.clone().write_owned();
///     gosched::go(move || guard.push(9)).join().unwrap();
///     assert_eq!(*prices.read(), [5, 7, 9]);
/// });
/// ```
#[must_use = "dropping the guard unlocks the lock"]
pub struct OwnedRwLockWriteGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
}

impl<T: ?Sized> Mutex<T> {
    /// [`lock`](Self::lock) with a guard that keeps the mutex. The name is tokio's.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::Mutex;
    ///
    /// let count = Arc::new(Mutex::new(6));
    /// *count.clone().lock_owned() += 1;
    /// assert_eq!(*count.lock(), 7);
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        mem::forget(self.lock());
        OwnedMutexGuard { mutex: self, value: PhantomData }
    }

    /// [`lock_timeout`](Self::lock_timeout) with a guard that keeps the mutex.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use gosched::sync::Mutex;
    ///
    /// gosched::run(|| {
    ///     let count = Arc::new(Mutex::new(0));
    ///     let _held = count.clone().lock_owned();
    ///     assert!(count.lock_owned_timeout(Duration::from_millis(1)).is_none());
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    #[must_use = "dropping the guard unlocks the mutex"]
    pub fn lock_owned_timeout(self: Arc<Self>, timeout: Duration) -> Option<OwnedMutexGuard<T>> {
        mem::forget(self.lock_timeout(timeout)?);
        Some(OwnedMutexGuard { mutex: self, value: PhantomData })
    }

    /// [`try_lock`](Self::try_lock) with a guard that keeps the mutex.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::Mutex;
    ///
    /// let count = Arc::new(Mutex::new(0));
    /// let held = count.clone().try_lock_owned().unwrap();
    /// assert!(count.clone().try_lock_owned().is_none());
    /// drop(held);
    /// assert!(count.try_lock_owned().is_some());
    /// ```
    #[must_use = "dropping the guard unlocks the mutex"]
    pub fn try_lock_owned(self: Arc<Self>) -> Option<OwnedMutexGuard<T>> {
        mem::forget(self.try_lock()?);
        Some(OwnedMutexGuard { mutex: self, value: PhantomData })
    }
}

impl<T: ?Sized> RwLock<T> {
    /// [`read`](Self::read) with a guard that keeps the lock. The name is tokio's.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::RwLock;
    ///
    /// let level = Arc::new(RwLock::new(1));
    /// let (one, other) = (level.clone().read_owned(), level.clone().try_read_owned());
    /// assert_eq!((*one, other.as_deref()), (1, Some(&1)));
    /// ```
    ///
    /// # Panics
    /// As [`read`](Self::read).
    #[track_caller]
    pub fn read_owned(self: Arc<Self>) -> OwnedRwLockReadGuard<T> {
        mem::forget(self.read());
        OwnedRwLockReadGuard { lock: self }
    }

    /// [`try_read`](Self::try_read) with a guard that keeps the lock.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::RwLock;
    ///
    /// let level = Arc::new(RwLock::new(1));
    /// let _writer = level.write();
    /// assert!(level.clone().try_read_owned().is_none());
    /// ```
    #[must_use = "dropping the guard unlocks the lock"]
    pub fn try_read_owned(self: Arc<Self>) -> Option<OwnedRwLockReadGuard<T>> {
        mem::forget(self.try_read()?);
        Some(OwnedRwLockReadGuard { lock: self })
    }

    /// [`write`](Self::write) with a guard that keeps the lock. The name is tokio's.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::RwLock;
    ///
    /// let level = Arc::new(RwLock::new(1));
    /// *level.clone().write_owned() += 1;
    /// assert_eq!(*level.read(), 2);
    /// ```
    ///
    /// # Panics
    /// As [`write`](Self::write).
    #[track_caller]
    pub fn write_owned(self: Arc<Self>) -> OwnedRwLockWriteGuard<T> {
        mem::forget(self.write());
        OwnedRwLockWriteGuard { lock: self }
    }

    /// [`try_write`](Self::try_write) with a guard that keeps the lock.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::RwLock;
    ///
    /// let level = Arc::new(RwLock::new(1));
    /// let _reader = level.read();
    /// assert!(level.clone().try_write_owned().is_none());
    /// ```
    #[must_use = "dropping the guard unlocks the lock"]
    pub fn try_write_owned(self: Arc<Self>) -> Option<OwnedRwLockWriteGuard<T>> {
        mem::forget(self.try_write()?);
        Some(OwnedRwLockWriteGuard { lock: self })
    }
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// [`RwLockWriteGuard::downgrade`](crate::sync::RwLockWriteGuard::downgrade) of a guard that
    /// keeps the lock.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{OwnedRwLockWriteGuard, RwLock};
    ///
    /// let level = Arc::new(RwLock::new(1));
    /// let mut writer = level.clone().write_owned();
    /// *writer += 1;
    /// let reader = OwnedRwLockWriteGuard::downgrade(writer);
    /// assert_eq!((*reader, *level.read()), (2, 2));
    /// ```
    pub fn downgrade(guard: Self) -> OwnedRwLockReadGuard<T> {
        let guard = ManuallyDrop::new(guard);
        guard.lock.raw.downgrade();
        // SAFETY: the guard isn't dropped or used any more, so the `Arc` is moved out of it.
        OwnedRwLockReadGuard { lock: unsafe { ptr::read(&guard.lock) } }
    }
}

/// Access for all types alike.
macro_rules! guards {
    ($($guard:ident $field:ident: $unlock:ident;)*) => {$(
        impl<T: ?Sized> Deref for $guard<T> {
            type Target = T;

            fn deref(&self) -> &T {
                // SAFETY: the lock is held as long as the guard lives, so nobody writes meanwhile.
                // The guard keeps the lock.
                unsafe { &*self.$field.value.get() }
            }
        }

        impl<T: ?Sized> Drop for $guard<T> {
            /// Unlocks. The lock, and with it the value, may be dropped after that.
            fn drop(&mut self) {
                self.$field.raw.$unlock();
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $guard<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&**self, f)
            }
        }

        impl<T: ?Sized + fmt::Display> fmt::Display for $guard<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&**self, f)
            }
        }
    )*};
}

guards! {
    OwnedMutexGuard mutex: unlock;
    OwnedRwLockReadGuard lock: read_unlock;
    OwnedRwLockWriteGuard lock: write_unlock;
}

impl<T: ?Sized> DerefMut for OwnedMutexGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the mutex is locked as long as the guard lives, only its guard reaches the value,
        // and the guard is borrowed mutably.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for OwnedRwLockWriteGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held to write as long as the guard lives, only the guard reaches the
        // value, and the guard is borrowed mutably.
        unsafe { &mut *self.lock.value.get() }
    }
}
