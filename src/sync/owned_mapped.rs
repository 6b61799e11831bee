//! Guards that keep their lock, of a part of a value: [`OwnedMappedMutexGuard`],
//! [`OwnedMappedRwLockReadGuard`] and [`OwnedMappedRwLockWriteGuard`].

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::sync::{Mutex, OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// An [`OwnedMutexGuard`] of a part of the value, a `U` in a `T`. [`OwnedMutexGuard::map`] makes
/// it. Dropping it unlocks.
///
/// ```
/// use std::sync::Arc;
/// use gosched::sync::{Mutex, OwnedMappedMutexGuard, OwnedMutexGuard};
///
/// gosched::run(|| {
///     let pair = Arc::new(Mutex::new((7, String::from("go"))));
///     let mut name: OwnedMappedMutexGuard<(u32, String), String> =
///         OwnedMutexGuard::map(pair.clone().lock_owned(), |pair| &mut pair.1);
///     gosched::go(move || name.push_str("pher")).join().unwrap();
///     assert_eq!(pair.lock().1, "gopher");
/// });
/// ```
#[must_use = "dropping the guard unlocks the mutex"]
pub struct OwnedMappedMutexGuard<T: ?Sized, U: ?Sized> {
    /// In the value of the mutex. Invariant in `U`: other guards read what this one writes.
    part: *mut U,
    guard: OwnedMutexGuard<T>,
}

// SAFETY: the guard gives `&mut U` on whatever thread it is, beside `guard`.
unsafe impl<T: ?Sized, U: ?Sized + Send> Send for OwnedMappedMutexGuard<T, U> where OwnedMutexGuard<T>: Send {}
// SAFETY: a reference to a guard gives `&U`. `Send` is required as well, as for a `MutexGuard`.
unsafe impl<T: ?Sized, U: ?Sized + Send + Sync> Sync for OwnedMappedMutexGuard<T, U> where
    OwnedMutexGuard<T>: Sync
{
}

/// An [`OwnedRwLockReadGuard`] of a part of the value, a `U` in a `T`.
/// [`OwnedRwLockReadGuard::map`] makes it. Dropping it unlocks.
///
/// ```
/// use std::sync::Arc;
/// use gosched::sync::{OwnedMappedRwLockReadGuard, OwnedRwLockReadGuard, RwLock};
///
/// gosched::run(|| {
///     let prices = Arc::new(RwLock::new(vec![5, 7]));
///     let first: OwnedMappedRwLockReadGuard<Vec<u32>, u32> =
///         OwnedRwLockReadGuard::map(prices.read_owned(), |prices| &prices[0]);
///     assert_eq!(gosched::go(move || *first).join().unwrap(), 5);
/// });
/// ```
#[must_use = "dropping the guard unlocks the lock"]
pub struct OwnedMappedRwLockReadGuard<T: ?Sized, U: ?Sized> {
    /// In the value of the lock.
    part: *const U,
    guard: OwnedRwLockReadGuard<T>,
}

// SAFETY: the guard gives `&U` on whatever thread it is, beside `guard`. `Send` is required as
// well, as for an `RwLockReadGuard`.
unsafe impl<T: ?Sized, U: ?Sized + Send + Sync> Send for OwnedMappedRwLockReadGuard<T, U> where
    OwnedRwLockReadGuard<T>: Send
{
}
// SAFETY: a reference to a guard gives `&U`. `Send` is required as well, as there.
unsafe impl<T: ?Sized, U: ?Sized + Send + Sync> Sync for OwnedMappedRwLockReadGuard<T, U> where
    OwnedRwLockReadGuard<T>: Sync
{
}

/// An [`OwnedRwLockWriteGuard`] of a part of the value, a `U` in a `T`.
/// [`OwnedRwLockWriteGuard::map`] makes it. Dropping it unlocks. It has no `downgrade`, as a
/// [`MappedRwLockWriteGuard`](crate::sync::MappedRwLockWriteGuard) has none.
///
/// ```
/// use std::sync::Arc;
/// use gosched::sync::{OwnedMappedRwLockWriteGuard, OwnedRwLockWriteGuard, RwLock};
///
/// gosched::run(|| {
///     let prices = Arc::new(RwLock::new(vec![5, 7]));
///     let mut first: OwnedMappedRwLockWriteGuard<Vec<u32>, u32> =
///         OwnedRwLockWriteGuard::map(prices.clone().write_owned(), |prices| &mut prices[0]);
///     gosched::go(move || *first += 1).join().unwrap();
///     assert_eq!(*prices.read(), [6, 7]);
/// });
/// ```
#[must_use = "dropping the guard unlocks the lock"]
pub struct OwnedMappedRwLockWriteGuard<T: ?Sized, U: ?Sized> {
    /// In the value of the lock. Invariant in `U`: other guards read what this one writes.
    part: *mut U,
    guard: OwnedRwLockWriteGuard<T>,
}

// SAFETY: the guard gives `&mut U` on whatever thread it is, beside `guard`. `Sync` is required as
// well, as for an `RwLockWriteGuard`.
unsafe impl<T: ?Sized, U: ?Sized + Send + Sync> Send for OwnedMappedRwLockWriteGuard<T, U> where
    OwnedRwLockWriteGuard<T>: Send
{
}
// SAFETY: a reference to a guard gives `&U`. `Send` is required as well, as there.
unsafe impl<T: ?Sized, U: ?Sized + Send + Sync> Sync for OwnedMappedRwLockWriteGuard<T, U> where
    OwnedRwLockWriteGuard<T>: Sync
{
}

impl<T: ?Sized> OwnedMutexGuard<T> {
    /// [`MutexGuard::map`](crate::sync::MutexGuard::map) of a guard that keeps the mutex.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{Mutex, OwnedMutexGuard};
    ///
    /// let pair = Arc::new(Mutex::new((1, "a")));
    /// let mut number = OwnedMutexGuard::map(pair.clone().lock_owned(), |pair| &mut pair.0);
    /// *number += 1;
    /// assert!(pair.try_lock().is_none());
    /// drop(number);
    /// assert_eq!(*pair.lock(), (2, "a"));
    /// ```
    ///
    /// # Panics
    /// If `f` does. Then the mutex is unlocked.
    pub fn map<U: ?Sized>(mut guard: Self, f: impl FnOnce(&mut T) -> &mut U) -> OwnedMappedMutexGuard<T, U> {
        OwnedMappedMutexGuard { part: f(&mut guard), guard }
    }

    /// [`map`](Self::map) to a part that may not be there. tokio's `try_map`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{Mutex, OwnedMutexGuard};
    ///
    /// let words = Arc::new(Mutex::new(vec!["a"])).lock_owned();
    /// let words = OwnedMutexGuard::filter_map(words, |words| words.get_mut(7)).unwrap_err();
    /// let first = OwnedMutexGuard::filter_map(words, |words| words.get_mut(0)).unwrap();
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
    ) -> Result<OwnedMappedMutexGuard<T, U>, Self> {
        match f(&mut guard).map(|part| &raw mut *part) {
            Some(part) => Ok(OwnedMappedMutexGuard { part, guard }),
            None => Err(guard),
        }
    }
}

impl<T: ?Sized> OwnedRwLockReadGuard<T> {
    /// [`RwLockReadGuard::map`](crate::sync::RwLockReadGuard::map) of a guard that keeps the lock.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{OwnedRwLockReadGuard, RwLock};
    ///
    /// let pair = Arc::new(RwLock::new((1, String::from("a"))));
    /// let name = OwnedRwLockReadGuard::map(pair.clone().read_owned(), |pair| pair.1.as_str());
    /// assert_eq!(&*name, "a");
    /// assert!(pair.try_write().is_none());
    /// ```
    ///
    /// # Panics
    /// If `f` does. Then the lock is unlocked.
    pub fn map<U: ?Sized>(guard: Self, f: impl FnOnce(&T) -> &U) -> OwnedMappedRwLockReadGuard<T, U> {
        OwnedMappedRwLockReadGuard { part: f(&guard), guard }
    }

    /// [`map`](Self::map) to a part that may not be there. tokio's `try_map`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{OwnedRwLockReadGuard, RwLock};
    ///
    /// let words = Arc::new(RwLock::new(vec!["a"])).read_owned();
    /// let words = OwnedRwLockReadGuard::filter_map(words, |words| words.get(7)).unwrap_err();
    /// let first = OwnedRwLockReadGuard::filter_map(words, |words| words.first()).unwrap();
    /// assert_eq!(*first, "a");
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
    ) -> Result<OwnedMappedRwLockReadGuard<T, U>, Self> {
        match f(&guard).map(|part| &raw const *part) {
            Some(part) => Ok(OwnedMappedRwLockReadGuard { part, guard }),
            None => Err(guard),
        }
    }
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// [`RwLockWriteGuard::map`](crate::sync::RwLockWriteGuard::map) of a guard that keeps the
    /// lock.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{OwnedRwLockWriteGuard, RwLock};
    ///
    /// let pair = Arc::new(RwLock::new((1, "a")));
    /// *OwnedRwLockWriteGuard::map(pair.clone().write_owned(), |pair| &mut pair.0) += 1;
    /// assert_eq!(*pair.read(), (2, "a"));
    /// ```
    ///
    /// # Panics
    /// If `f` does. Then the lock is unlocked.
    pub fn map<U: ?Sized>(
        mut guard: Self,
        f: impl FnOnce(&mut T) -> &mut U,
    ) -> OwnedMappedRwLockWriteGuard<T, U> {
        OwnedMappedRwLockWriteGuard { part: f(&mut guard), guard }
    }

    /// [`map`](Self::map) to a part that may not be there. tokio's `try_map`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{OwnedRwLockWriteGuard, RwLock};
    ///
    /// let words = Arc::new(RwLock::new(vec!["a"])).write_owned();
    /// let words = OwnedRwLockWriteGuard::filter_map(words, |words| words.get_mut(7)).unwrap_err();
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
    ) -> Result<OwnedMappedRwLockWriteGuard<T, U>, Self> {
        match f(&mut guard).map(|part| &raw mut *part) {
            Some(part) => Ok(OwnedMappedRwLockWriteGuard { part, guard }),
            None => Err(guard),
        }
    }
}

impl<T: ?Sized, U: ?Sized> OwnedMappedMutexGuard<T, U> {
    /// The guard's mutex. This is a function, not a method, because the value may have a method of
    /// this name.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{Mutex, OwnedMappedMutexGuard, OwnedMutexGuard};
    ///
    /// let pair = Arc::new(Mutex::new((1, "a")));
    /// let number = OwnedMutexGuard::map(pair.clone().lock_owned(), |pair| &mut pair.0);
    /// assert!(Arc::ptr_eq(OwnedMappedMutexGuard::mutex(&number), &pair));
    /// ```
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        OwnedMutexGuard::mutex(&this.guard)
    }

    /// [`OwnedMutexGuard::map`] once more.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{Mutex, OwnedMappedMutexGuard, OwnedMutexGuard};
    ///
    /// let nested = Arc::new(Mutex::new((1, [2, 3]))).lock_owned();
    /// let array = OwnedMutexGuard::map(nested, |nested| &mut nested.1);
    /// assert_eq!(*OwnedMappedMutexGuard::map(array, |array| &mut array[0]), 2);
    /// ```
    ///
    /// # Panics
    /// If `f` does. Then the mutex is unlocked.
    pub fn map<V: ?Sized>(guard: Self, f: impl FnOnce(&mut U) -> &mut V) -> OwnedMappedMutexGuard<T, V> {
        // SAFETY: the value is locked as long as the guard lives, and only the guard reaches the
        // part.
        let part = f(unsafe { &mut *guard.part });
        OwnedMappedMutexGuard { part, guard: guard.guard }
    }

    /// [`OwnedMutexGuard::filter_map`] once more.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{Mutex, OwnedMappedMutexGuard, OwnedMutexGuard};
    ///
    /// let nested = Arc::new(Mutex::new((1, [2, 3]))).lock_owned();
    /// let array = OwnedMutexGuard::map(nested, |nested| &mut nested.1);
    /// assert!(OwnedMappedMutexGuard::filter_map(array, |array| array.get_mut(2)).is_err());
    /// ```
    ///
    /// # Errors
    /// If `f` returns `None`: the guard, with the mutex still locked.
    ///
    /// # Panics
    /// If `f` does. Then the mutex is unlocked.
    pub fn filter_map<V: ?Sized>(
        guard: Self,
        f: impl FnOnce(&mut U) -> Option<&mut V>,
    ) -> Result<OwnedMappedMutexGuard<T, V>, Self> {
        // SAFETY: as in map.
        match f(unsafe { &mut *guard.part }).map(|part| &raw mut *part) {
            Some(part) => Ok(OwnedMappedMutexGuard { part, guard: guard.guard }),
            None => Err(guard),
        }
    }
}

impl<T: ?Sized, U: ?Sized> OwnedMappedRwLockReadGuard<T, U> {
    /// The guard's lock. This is a function, not a method, because the value may have a method of
    /// this name.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{OwnedMappedRwLockReadGuard, OwnedRwLockReadGuard, RwLock};
    ///
    /// let pair = Arc::new(RwLock::new((1, "a")));
    /// let number = OwnedRwLockReadGuard::map(pair.clone().read_owned(), |pair| &pair.0);
    /// assert!(Arc::ptr_eq(OwnedMappedRwLockReadGuard::rwlock(&number), &pair));
    /// ```
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        OwnedRwLockReadGuard::rwlock(&this.guard)
    }

    /// [`OwnedRwLockReadGuard::map`] once more.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{OwnedMappedRwLockReadGuard, OwnedRwLockReadGuard, RwLock};
    ///
    /// let nested = Arc::new(RwLock::new((1, [2, 3]))).read_owned();
    /// let array = OwnedRwLockReadGuard::map(nested, |nested| &nested.1);
    /// assert_eq!(*OwnedMappedRwLockReadGuard::map(array, |array| &array[0]), 2);
    /// ```
    ///
    /// # Panics
    /// If `f` does. Then the lock is unlocked.
    pub fn map<V: ?Sized>(guard: Self, f: impl FnOnce(&U) -> &V) -> OwnedMappedRwLockReadGuard<T, V> {
        // SAFETY: the value is locked as long as the guard lives, so nobody writes meanwhile.
        let part = f(unsafe { &*guard.part });
        OwnedMappedRwLockReadGuard { part, guard: guard.guard }
    }

    /// [`OwnedRwLockReadGuard::filter_map`] once more.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{OwnedMappedRwLockReadGuard, OwnedRwLockReadGuard, RwLock};
    ///
    /// let nested = Arc::new(RwLock::new((1, [2, 3]))).read_owned();
    /// let array = OwnedRwLockReadGuard::map(nested, |nested| &nested.1);
    /// assert!(OwnedMappedRwLockReadGuard::filter_map(array, |array| array.get(2)).is_err());
    /// ```
    ///
    /// # Errors
    /// If `f` returns `None`: the guard.
    ///
    /// # Panics
    /// If `f` does. Then the lock is unlocked.
    pub fn filter_map<V: ?Sized>(
        guard: Self,
        f: impl FnOnce(&U) -> Option<&V>,
    ) -> Result<OwnedMappedRwLockReadGuard<T, V>, Self> {
        // SAFETY: as in map.
        match f(unsafe { &*guard.part }).map(|part| &raw const *part) {
            Some(part) => Ok(OwnedMappedRwLockReadGuard { part, guard: guard.guard }),
            None => Err(guard),
        }
    }
}

impl<T: ?Sized, U: ?Sized> OwnedMappedRwLockWriteGuard<T, U> {
    /// The guard's lock. This is a function, not a method, because the value may have a method of
    /// this name.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{OwnedMappedRwLockWriteGuard, OwnedRwLockWriteGuard, RwLock};
    ///
    /// let pair = Arc::new(RwLock::new((1, "a")));
    /// let number = OwnedRwLockWriteGuard::map(pair.clone().write_owned(), |pair| &mut pair.0);
    /// assert!(Arc::ptr_eq(OwnedMappedRwLockWriteGuard::rwlock(&number), &pair));
    /// ```
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        OwnedRwLockWriteGuard::rwlock(&this.guard)
    }

    /// [`OwnedRwLockWriteGuard::map`] once more.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{OwnedMappedRwLockWriteGuard, OwnedRwLockWriteGuard, RwLock};
    ///
    /// let nested = Arc::new(RwLock::new((1, [2, 3]))).write_owned();
    /// let array = OwnedRwLockWriteGuard::map(nested, |nested| &mut nested.1);
    /// assert_eq!(*OwnedMappedRwLockWriteGuard::map(array, |array| &mut array[0]), 2);
    /// ```
    ///
    /// # Panics
    /// If `f` does. Then the lock is unlocked.
    pub fn map<V: ?Sized>(
        guard: Self,
        f: impl FnOnce(&mut U) -> &mut V,
    ) -> OwnedMappedRwLockWriteGuard<T, V> {
        // SAFETY: the value is locked as long as the guard lives, and only the guard reaches the
        // part.
        let part = f(unsafe { &mut *guard.part });
        OwnedMappedRwLockWriteGuard { part, guard: guard.guard }
    }

    /// [`OwnedRwLockWriteGuard::filter_map`] once more.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::{OwnedMappedRwLockWriteGuard, OwnedRwLockWriteGuard, RwLock};
    ///
    /// let nested = Arc::new(RwLock::new((1, [2, 3]))).write_owned();
    /// let array = OwnedRwLockWriteGuard::map(nested, |nested| &mut nested.1);
    /// assert!(OwnedMappedRwLockWriteGuard::filter_map(array, |array| array.get_mut(2)).is_err());
    /// ```
    ///
    /// # Errors
    /// If `f` returns `None`: the guard, with the lock still locked.
    ///
    /// # Panics
    /// If `f` does. Then the lock is unlocked.
    pub fn filter_map<V: ?Sized>(
        guard: Self,
        f: impl FnOnce(&mut U) -> Option<&mut V>,
    ) -> Result<OwnedMappedRwLockWriteGuard<T, V>, Self> {
        // SAFETY: as in map.
        match f(unsafe { &mut *guard.part }).map(|part| &raw mut *part) {
            Some(part) => Ok(OwnedMappedRwLockWriteGuard { part, guard: guard.guard }),
            None => Err(guard),
        }
    }
}

/// Access by the guards.
macro_rules! access {
    ($($guard:ident)*) => {$(
        impl<T: ?Sized, U: ?Sized> Deref for $guard<T, U> {
            type Target = U;

            fn deref(&self) -> &U {
                // SAFETY: the value is locked as long as the guard lives, so nobody else writes
                // meanwhile. `guard` keeps the lock, and with it the value.
                unsafe { &*self.part }
            }
        }

        impl<T: ?Sized, U: ?Sized + fmt::Debug> fmt::Debug for $guard<T, U> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&**self, f)
            }
        }

        impl<T: ?Sized, U: ?Sized + fmt::Display> fmt::Display for $guard<T, U> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&**self, f)
            }
        }
    )*};
}

access! { OwnedMappedMutexGuard OwnedMappedRwLockReadGuard OwnedMappedRwLockWriteGuard }

impl<T: ?Sized, U: ?Sized> DerefMut for OwnedMappedMutexGuard<T, U> {
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: the mutex is locked as long as the guard lives, only its guard reaches the part,
        // and the guard is borrowed mutably.
        unsafe { &mut *self.part }
    }
}

impl<T: ?Sized, U: ?Sized> DerefMut for OwnedMappedRwLockWriteGuard<T, U> {
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: the lock is held to write as long as the guard lives, only the guard reaches the
        // part, and the guard is borrowed mutably.
        unsafe { &mut *self.part }
    }
}
