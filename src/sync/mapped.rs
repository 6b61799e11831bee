//! Guards of a part of a locked value: [`MappedMutexGuard`], [`MappedRwLockWriteGuard`], and the
//! functions that make them. A guard to read needs no other type for that.

use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::sync::raw_mutex::RawMutex;
use crate::sync::rwlock::RawRwLock;
use crate::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

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

/// Access for both types alike.
macro_rules! guards {
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

guards! {
    MappedMutexGuard: unlock;
    MappedRwLockWriteGuard: write_unlock;
}
