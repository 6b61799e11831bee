//! Guards that keep their lock: [`OwnedMutexGuard`], [`OwnedRwLockReadGuard`] and
//! [`OwnedRwLockWriteGuard`]. Guards of a part of a locked value: [`MappedMutexGuard`] and
//! [`MappedRwLockWriteGuard`]; a guard to read needs no other type for that.

use std::fmt;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::Duration;

use crate::sync::raw_mutex::RawMutex;
use crate::sync::raw_rwlock::RawRwLock;
use crate::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

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

impl<T: ?Sized> OwnedMutexGuard<T> {
    /// The guard's mutex. This is a function, not a method, because the value may have a method of
    /// this name.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{Mutex, OwnedMutexGuard};
    ///
    /// let count = Arc::new(Mutex::new(7));
    /// let guard = count.clone().lock_owned();
    /// assert!(Arc::ptr_eq(OwnedMutexGuard::mutex(&guard), &count));
    /// ```
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.mutex
    }
}

impl<T: ?Sized> OwnedRwLockReadGuard<T> {
    /// The guard's lock. This is a function, not a method, because the value may have a method of
    /// this name.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{OwnedRwLockReadGuard, RwLock};
    ///
    /// let level = Arc::new(RwLock::new(1));
    /// let guard = level.clone().read_owned();
    /// assert!(Arc::ptr_eq(OwnedRwLockReadGuard::rwlock(&guard), &level));
    /// ```
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.lock
    }
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// The guard's lock. This is a function, not a method, because the value may have a method of
    /// this name.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{OwnedRwLockWriteGuard, RwLock};
    ///
    /// let level = Arc::new(RwLock::new(1));
    /// let guard = level.clone().write_owned();
    /// assert!(Arc::ptr_eq(OwnedRwLockWriteGuard::rwlock(&guard), &level));
    /// ```
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.lock
    }

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

/// Access by the guards that keep their lock.
macro_rules! owned {
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

owned! {
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

/// Access to a part of the value of a locked [`Mutex`](crate::sync::Mutex), which
/// [`MutexGuard::map`] makes. Dropping it unlocks. A [`Condvar`](crate::sync::Condvar) doesn't take
/// it, because the whole value may change during a wait.
///
/// ```
/// use gosched::sync::{MappedMutexGuard, Mutex, MutexGuard};
///
/// struct Pair(Mutex<(u32, String)>);
///
/// impl Pair {
///     fn name(&self) -> MappedMutexGuard<'_, String> {
///         MutexGuard::map(self.0.lock(), |pair| &mut pair.1)
///     }
/// }
///
/// let pair = Pair(Mutex::new((7, String::from("go"))));
/// pair.name().push_str("pher");
/// assert_eq!(*pair.name(), "gopher");
/// ```
#[must_use = "dropping the guard unlocks the mutex"]
pub struct MappedMutexGuard<'a, T: ?Sized> {
    raw: &'a RawMutex,
    value: NonNull<T>,
    /// Invariant in `T`: other guards read what this one writes.
    borrowed: PhantomData<&'a mut T>,
}

// SAFETY: the guard gives `&mut T` on whatever thread it is, and may unlock there.
unsafe impl<T: ?Sized + Send> Send for MappedMutexGuard<'_, T> {}
// SAFETY: a reference to a guard gives `&T`. `Send` is required as well, as for a `MutexGuard`.
unsafe impl<T: ?Sized + Send + Sync> Sync for MappedMutexGuard<'_, T> {}

/// Exclusive access to a part of the value of an [`RwLock`](crate::sync::RwLock), which
/// [`RwLockWriteGuard::map`] makes. Dropping it unlocks.
///
/// It has no `downgrade`: the function that chose the part had the whole value for itself, and may
/// have relied on that.
///
/// ```
/// use gosched::sync::{MappedRwLockWriteGuard, RwLock, RwLockWriteGuard};
///
/// let words = RwLock::new(vec!["a", "b"]);
/// let mut first: MappedRwLockWriteGuard<'_, &str> =
///     RwLockWriteGuard::map(words.write(), |words| &mut words[0]);
/// *first = "c";
/// drop(first);
/// assert_eq!(*words.read(), ["c", "b"]);
/// ```
#[must_use = "dropping the guard unlocks the lock"]
pub struct MappedRwLockWriteGuard<'a, T: ?Sized> {
    raw: &'a RawRwLock,
    value: NonNull<T>,
    /// Invariant in `T`: other guards read what this one writes.
    borrowed: PhantomData<&'a mut T>,
}

// SAFETY: the guard gives `&mut T` on whatever thread it is, and may unlock there. `Sync` is
// required as well, as for an `RwLockWriteGuard`.
unsafe impl<T: ?Sized + Send + Sync> Send for MappedRwLockWriteGuard<'_, T> {}
// SAFETY: a reference to a guard gives `&T`. `Send` is required as well, as there.
unsafe impl<T: ?Sized + Send + Sync> Sync for MappedRwLockWriteGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Makes a guard of a part of the value. The mutex stays locked. This is a function, not a
    /// method, because the value may have a method of this name.
    ///
    /// ```
    /// use gosched::sync::{Mutex, MutexGuard};
    ///
    /// let pair = Mutex::new((1, "a"));
    /// let mut number = MutexGuard::map(pair.lock(), |pair| &mut pair.0);
    /// *number += 1;
    /// assert!(pair.try_lock().is_none());
    /// drop(number);
    /// assert_eq!(*pair.lock(), (2, "a"));
    /// ```
    ///
    /// The part can't be taken out of the guard:
    ///
    /// ```compile_fail
    /// use gosched::sync::{Mutex, MutexGuard};
    ///
    /// let (pair, mut kept) = (Mutex::new((1, 2)), None);
    /// MutexGuard::map(pair.lock(), |pair| {
    ///     kept = Some(&mut pair.1);
    ///     &mut pair.0
    /// });
    /// ```
    ///
    /// # Panics
    /// If `f` does. Then the mutex is unlocked.
    pub fn map<U: ?Sized>(mut guard: Self, f: impl FnOnce(&mut T) -> &mut U) -> MappedMutexGuard<'a, U> {
        let value = NonNull::from(f(&mut guard));
        MappedMutexGuard { raw: guard.into_raw(), value, borrowed: PhantomData }
    }

    /// [`map`](Self::map) to a part that may not be there.
    ///
    /// ```
    /// use gosched::sync::{Mutex, MutexGuard};
    ///
    /// let words = Mutex::new(vec!["a"]);
    /// let words = MutexGuard::filter_map(words.lock(), |words| words.get_mut(7)).unwrap_err();
    /// let first = MutexGuard::filter_map(words, |words| words.get_mut(0)).unwrap();
    /// assert_eq!(*first, "a");
    /// ```
    ///
    /// # Errors
    /// If `f` returns `None`: the guard, with the mutex still locked.
    ///
    /// # Panics
    /// If `f` does. Then the mutex is unlocked.
    pub fn filter_map<U: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedMutexGuard<'a, U>, Self> {
        match f(&mut guard).map(NonNull::from) {
            Some(value) => Ok(MappedMutexGuard { raw: guard.into_raw(), value, borrowed: PhantomData }),
            None => Err(guard),
        }
    }
}

impl<'a, T: ?Sized> MappedMutexGuard<'a, T> {
    /// [`MutexGuard::map`] once more.
    ///
    /// ```
    /// use gosched::sync::{MappedMutexGuard, Mutex, MutexGuard};
    ///
    /// let nested = Mutex::new((1, [2, 3]));
    /// let array = MutexGuard::map(nested.lock(), |nested| &mut nested.1);
    /// assert_eq!(*MappedMutexGuard::map(array, |array| &mut array[0]), 2);
    /// ```
    ///
    /// # Panics
    /// If `f` does. Then the mutex is unlocked.
    pub fn map<U: ?Sized>(mut guard: Self, f: impl FnOnce(&mut T) -> &mut U) -> MappedMutexGuard<'a, U> {
        let value = NonNull::from(f(&mut guard));
        let raw = guard.raw;
        mem::forget(guard);
        MappedMutexGuard { raw, value, borrowed: PhantomData }
    }

    /// [`MutexGuard::filter_map`] once more.
    ///
    /// ```
    /// use gosched::sync::{MappedMutexGuard, Mutex, MutexGuard};
    ///
    /// let nested = Mutex::new((1, [2, 3]));
    /// let array = MutexGuard::map(nested.lock(), |nested| &mut nested.1);
    /// assert!(MappedMutexGuard::filter_map(array, |array| array.get_mut(2)).is_err());
    /// ```
    ///
    /// # Errors
    /// If `f` returns `None`: the guard, with the mutex still locked.
    ///
    /// # Panics
    /// If `f` does. Then the mutex is unlocked.
    pub fn filter_map<U: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedMutexGuard<'a, U>, Self> {
        let Some(value) = f(&mut guard).map(NonNull::from) else { return Err(guard) };
        let raw = guard.raw;
        mem::forget(guard);
        Ok(MappedMutexGuard { raw, value, borrowed: PhantomData })
    }
}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// Makes a guard of a part of the value. The lock stays locked. This is a function, not a
    /// method, because the value may have a method of this name.
    ///
    /// ```
    /// use gosched::sync::{RwLock, RwLockReadGuard};
    ///
    /// let pair = RwLock::new((1, String::from("a")));
    /// let name: RwLockReadGuard<'_, str> = RwLockReadGuard::map(pair.read(), |pair| pair.1.as_str());
    /// assert_eq!(&*name, "a");
    /// assert!(pair.try_write().is_none());
    /// ```
    ///
    /// # Panics
    /// If `f` does. Then the lock is unlocked.
    pub fn map<U: ?Sized>(guard: Self, f: impl FnOnce(&T) -> &U) -> RwLockReadGuard<'a, U> {
        let value = NonNull::from(f(&guard));
        guard.with_value(value)
    }

    /// [`map`](Self::map) to a part that may not be there.
    ///
    /// ```
    /// use gosched::sync::{RwLock, RwLockReadGuard};
    ///
    /// let words = RwLock::new(vec!["a"]);
    /// let first = RwLockReadGuard::filter_map(words.read(), |words| words.first()).unwrap();
    /// assert_eq!(*first, "a");
    /// assert!(RwLockReadGuard::filter_map(words.read(), |words| words.get(1)).is_err());
    /// ```
    ///
    /// # Errors
    /// If `f` returns `None`: the guard.
    ///
    /// # Panics
    /// If `f` does. Then the lock is unlocked.
    pub fn filter_map<U: ?Sized>(
        guard: Self,
        f: impl FnOnce(&T) -> Option<&U>,
    ) -> Result<RwLockReadGuard<'a, U>, Self> {
        match f(&guard).map(NonNull::from) {
            Some(value) => Ok(guard.with_value(value)),
            None => Err(guard),
        }
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Makes a guard of a part of the value. The lock stays locked. This is a function, not a
    /// method, because the value may have a method of this name.
    ///
    /// ```
    /// use gosched::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let pair = RwLock::new((1, "a"));
    /// *RwLockWriteGuard::map(pair.write(), |pair| &mut pair.0) += 1;
    /// assert_eq!(*pair.read(), (2, "a"));
    /// ```
    ///
    /// The part can't be taken out of the guard:
    ///
    /// ```compile_fail
    /// use gosched::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let (pair, mut kept) = (RwLock::new((1, 2)), None);
    /// RwLockWriteGuard::map(pair.write(), |pair| {
    ///     kept = Some(&mut pair.1);
    ///     &mut pair.0
    /// });
    /// ```
    ///
    /// # Panics
    /// If `f` does. Then the lock is unlocked.
    pub fn map<U: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut T) -> &mut U,
    ) -> MappedRwLockWriteGuard<'a, U> {
        let value = NonNull::from(f(&mut guard));
        MappedRwLockWriteGuard { raw: guard.into_raw(), value, borrowed: PhantomData }
    }

    /// [`map`](Self::map) to a part that may not be there.
    ///
    /// ```
    /// use gosched::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let words = RwLock::new(vec!["a"]);
    /// let words = RwLockWriteGuard::filter_map(words.write(), |words| words.get_mut(7)).unwrap_err();
    /// assert_eq!(*words, ["a"]);
    /// ```
    ///
    /// # Errors
    /// If `f` returns `None`: the guard, with the lock still locked.
    ///
    /// # Panics
    /// If `f` does. Then the lock is unlocked.
    pub fn filter_map<U: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedRwLockWriteGuard<'a, U>, Self> {
        match f(&mut guard).map(NonNull::from) {
            Some(value) => Ok(MappedRwLockWriteGuard { raw: guard.into_raw(), value, borrowed: PhantomData }),
            None => Err(guard),
        }
    }
}

impl<'a, T: ?Sized> MappedRwLockWriteGuard<'a, T> {
    /// [`RwLockWriteGuard::map`] once more.
    ///
    /// ```
    /// use gosched::sync::{MappedRwLockWriteGuard, RwLock, RwLockWriteGuard};
    ///
    /// let nested = RwLock::new((1, [2, 3]));
    /// let array = RwLockWriteGuard::map(nested.write(), |nested| &mut nested.1);
    /// assert_eq!(*MappedRwLockWriteGuard::map(array, |array| &mut array[0]), 2);
    /// ```
    ///
    /// # Panics
    /// If `f` does. Then the lock is unlocked.
    pub fn map<U: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut T) -> &mut U,
    ) -> MappedRwLockWriteGuard<'a, U> {
        let value = NonNull::from(f(&mut guard));
        let raw = guard.raw;
        mem::forget(guard);
        MappedRwLockWriteGuard { raw, value, borrowed: PhantomData }
    }

    /// [`RwLockWriteGuard::filter_map`] once more.
    ///
    /// ```
    /// use gosched::sync::{MappedRwLockWriteGuard, RwLock, RwLockWriteGuard};
    ///
    /// let nested = RwLock::new((1, [2, 3]));
    /// let array = RwLockWriteGuard::map(nested.write(), |nested| &mut nested.1);
    /// assert!(MappedRwLockWriteGuard::filter_map(array, |array| array.get_mut(2)).is_err());
    /// ```
    ///
    /// # Errors
    /// If `f` returns `None`: the guard, with the lock still locked.
    ///
    /// # Panics
    /// If `f` does. Then the lock is unlocked.
    pub fn filter_map<U: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedRwLockWriteGuard<'a, U>, Self> {
        let Some(value) = f(&mut guard).map(NonNull::from) else { return Err(guard) };
        let raw = guard.raw;
        mem::forget(guard);
        Ok(MappedRwLockWriteGuard { raw, value, borrowed: PhantomData })
    }
}

/// Access by the guards of a part of a value.
macro_rules! mapped {
    ($($guard:ident: $unlock:ident;)*) => {$(
        impl<T: ?Sized> Deref for $guard<'_, T> {
            type Target = T;

            fn deref(&self) -> &T {
                // SAFETY: the value is locked as long as the guard lives, and only its guard
                // reaches it. The value outlives the guard, because `raw` borrows its lock.
                unsafe { self.value.as_ref() }
            }
        }

        impl<T: ?Sized> DerefMut for $guard<'_, T> {
            fn deref_mut(&mut self) -> &mut T {
                // SAFETY: as in deref, and the guard is borrowed mutably.
                unsafe { self.value.as_mut() }
            }
        }

        impl<T: ?Sized> Drop for $guard<'_, T> {
            fn drop(&mut self) {
                self.raw.$unlock();
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&**self, f)
            }
        }

        impl<T: ?Sized + fmt::Display> fmt::Display for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&**self, f)
            }
        }
    )*};
}

mapped! {
    MappedMutexGuard: unlock;
    MappedRwLockWriteGuard: write_unlock;
}
