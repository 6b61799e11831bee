//! [`RwLock`].

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::runtime::{must_run, on_goroutine, point, unwind_to_run};
use crate::sync::raw_rwlock::RawRwLock;

/// A lock that is held by any number of readers, or by one writer. Go's `sync.RWMutex`: if a writer
/// waits, readers that come later wait for the writer. So a goroutine that holds the lock to read
/// must not lock it again.
///
/// ```
/// use gosched::sync::RwLock;
///
/// static PRICES: RwLock<Vec<u32>> = RwLock::new(Vec::new());
///
/// gosched::run(|| {
///     PRICES.write().extend([5, 7]);
///     gosched::scope(|s| {
///         for _ in 0..10 {
///             s.go(|| assert_eq!(PRICES.read().iter().sum::<u32>(), 12)); // all at once, if there are P's
///         }
///     });
/// });
/// ```
pub struct RwLock<T: ?Sized> {
    pub(super) raw: RawRwLock,
    pub(super) value: UnsafeCell<T>,
}

// SAFETY: the lock owns its value, which may be sent.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: the value goes to the thread of the writer (Send), and several readers share it (Sync).
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

/// Shared access to the value of an [`RwLock`]; dropping it unlocks. Go's `RUnlock`.
///
/// ```
/// use gosched::sync::{RwLock, RwLockReadGuard};
///
/// fn longest(words: RwLockReadGuard<'_, Vec<&'static str>>) -> Option<&'static str> {
///     words.iter().copied().max_by_key(|word| word.len())
/// } // and unlocks
///
/// let words = RwLock::new(vec!["a", "bcd", "ef"]);
/// assert_eq!(longest(words.read()), Some("bcd"));
/// ```
#[must_use = "dropping the guard unlocks the lock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    /// The lock without the value: a guard that referred to the whole lock would be invariant in
    /// `T`, as the lock is by its cell.
    raw: &'a RawRwLock,
    /// Only read, so the guard is covariant like `&'a T`.
    value: NonNull<T>,
    borrowed: PhantomData<&'a T>,
}

// SAFETY: a guard gives `&T` on whatever thread it is, and may unlock there. `Send` is required as
// well, as for the lock.
unsafe impl<T: ?Sized + Send + Sync> Send for RwLockReadGuard<'_, T> {}
// SAFETY: a reference to a guard gives `&T`, as the guard does.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLockReadGuard<'_, T> {}

/// Exclusive access to the value of an [`RwLock`]; dropping it unlocks. Go's `Unlock`.
///
/// ```
/// use gosched::sync::{RwLock, RwLockWriteGuard};
///
/// fn add(mut words: RwLockWriteGuard<'_, Vec<&str>>) {
///     words.push("new");
/// } // and unlocks
///
/// let words = RwLock::new(vec!["old"]);
/// add(words.write());
/// assert_eq!(*words.read(), ["old", "new"]);
/// ```
#[must_use = "dropping the guard unlocks the lock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    /// Invariant in `T`, as the lock is by its cell: other guards read the values that this one
    /// writes.
    lock: &'a RwLock<T>,
}

impl<T> RwLock<T> {
    /// An unlocked lock.
    ///
    /// ```
    /// use gosched::sync::RwLock;
    ///
    /// static LEVEL: RwLock<u32> = RwLock::new(1);
    /// assert_eq!(*LEVEL.read(), 1);
    /// ```
    pub const fn new(value: T) -> Self {
        RwLock { raw: RawRwLock::new(), value: UnsafeCell::new(value) }
    }

    /// Consumes the lock, and returns its value.
    ///
    /// ```
    /// let names = gosched::sync::RwLock::new(vec!["a"]);
    /// names.write().push("b");
    /// assert_eq!(names.into_inner(), ["a", "b"]);
    /// ```
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Locks for reading; waits while there is a writer. Go's `RLock`.
    ///
    /// ```
    /// use gosched::sync::RwLock;
    ///
    /// let level = RwLock::new(1);
    /// let (one, other) = (level.read(), level.try_read());
    /// assert_eq!((*one, other.as_deref()), (1, Some(&1)));
    /// ```
    ///
    /// # Panics
    /// If there are 2^29 guards to read already, forgotten ones included. If it must wait inside
    /// [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        point("read");
        if !on_goroutine()
            && let Some(guard) = self.try_read()
        {
            return guard;
        }
        let _guest = must_run("read");
        if !self.raw.read() {
            unwind_to_run();
        }
        self.read_guard()
    }

    /// Locks for reading if there is no writer, and there are fewer than 2^29 guards to read. Go's
    /// `TryRLock`.
    ///
    /// ```
    /// use gosched::sync::RwLock;
    ///
    /// let level = RwLock::new(1);
    /// let writer = level.write();
    /// assert!(level.try_read().is_none());
    /// drop(writer);
    /// assert_eq!(level.try_read().as_deref(), Some(&1));
    /// ```
    #[must_use = "dropping the guard unlocks the lock"]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        point("try_read");
        self.raw.try_read().then(|| self.read_guard())
    }

    /// Locks for writing; waits while others hold the lock. Go's `Lock`.
    ///
    /// ```
    /// use gosched::sync::RwLock;
    ///
    /// gosched::run(|| {
    ///     let level = RwLock::new(0);
    ///     gosched::scope(|s| {
    ///         for _ in 0..10 {
    ///             s.go(|| *level.write() += 1);
    ///         }
    ///     });
    ///     assert_eq!(level.into_inner(), 10);
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        point("write");
        if !on_goroutine()
            && let Some(guard) = self.try_write()
        {
            return guard;
        }
        let _guest = must_run("write");
        if !self.raw.write() {
            unwind_to_run();
        }
        RwLockWriteGuard { lock: self }
    }

    /// Locks for writing if nobody holds the lock. Go's `TryLock`.
    ///
    /// ```
    /// use gosched::sync::RwLock;
    ///
    /// let level = RwLock::new(1);
    /// let reader = level.read();
    /// assert!(level.try_write().is_none());
    /// drop(reader);
    /// *level.try_write().unwrap() += 1;
    /// assert_eq!(level.into_inner(), 2);
    /// ```
    #[must_use = "dropping the guard unlocks the lock"]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        self.raw.try_write().then(|| RwLockWriteGuard { lock: self })
    }

    /// The value. It needs no lock: `&mut` says that nobody else has the lock.
    ///
    /// ```
    /// let mut level = gosched::sync::RwLock::new(1);
    /// *level.get_mut() += 1;
    /// assert_eq!(*level.read(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The guard of a reader that has locked.
    fn read_guard(&self) -> RwLockReadGuard<'_, T> {
        // SAFETY: the pointer of a cell isn't null.
        let value = unsafe { NonNull::new_unchecked(self.value.get()) };
        RwLockReadGuard { raw: &self.raw, value, borrowed: PhantomData }
    }
}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// A guard of a part of the value, in place of this one.
    pub(super) fn with_value<U: ?Sized>(self, value: NonNull<U>) -> RwLockReadGuard<'a, U> {
        RwLockReadGuard { raw: ManuallyDrop::new(self).raw, value, borrowed: PhantomData }
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Makes this a guard to read. Other readers come in, but no other writer has the lock in
    /// between. std's `downgrade`; Go has none.
    ///
    /// ```
    /// use gosched::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let level = RwLock::new(1);
    /// let mut writer = level.write();
    /// *writer += 1;
    /// let reader = RwLockWriteGuard::downgrade(writer);
    /// assert_eq!((*reader, *level.read()), (2, 2));
    /// assert!(level.try_write().is_none());
    /// ```
    pub fn downgrade(guard: Self) -> RwLockReadGuard<'a, T> {
        let lock = ManuallyDrop::new(guard).lock;
        lock.raw.downgrade();
        lock.read_guard()
    }

    /// Forgets the guard, and returns what the caller is to unlock in its place.
    pub(super) fn into_raw(self) -> &'a RawRwLock {
        &ManuallyDrop::new(self).lock.raw
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held to read as long as the guard lives, and nobody writes meanwhile.
        // The lock outlives the guard, because `raw` borrows it for the guard's lifetime.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held to write as long as the guard lives, and only the guard reaches
        // the value.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in deref, and the guard is borrowed mutably.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.raw.read_unlock();
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.raw.write_unlock();
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        RwLock::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("RwLock");
        match self.try_read() {
            Some(guard) => out.field("data", &&*guard),
            None => out.field("data", &format_args!("<locked>")),
        };
        out.finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
