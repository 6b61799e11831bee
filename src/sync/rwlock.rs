//! [`RwLock`]: Go's `sync/rwmutex.go`.
//!
//! A writer announces itself by taking [`MAX_READERS`] from the count of readers, which turns
//! it negative: readers who come then wait for it. It waits in its turn for the readers that
//! there were, the last of whom wakes it. So neither side can keep the other out.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use crate::proc::park::on_goroutine;
use crate::runtime2::WaitReason;
use crate::sema::{semacquire1, semrelease};
use crate::sync::raw_mutex::RawMutex;
use crate::wait::must_wait;

/// More readers than there can be.
const MAX_READERS: i32 = 1 << 30;

/// A lock that many may hold to read, or one to write. Go's `sync.RWMutex`: a writer that
/// waits keeps out readers who come after it, so a goroutine that reads must not read again.
pub struct RwLock<T: ?Sized> {
    /// Held by a writer, waiting or not.
    writers: RawMutex,
    writer_sem: AtomicU32,
    reader_sem: AtomicU32,
    /// Readers, holding or waiting; less [`MAX_READERS`] if there is a writer.
    reader_count: AtomicI32,
    /// Readers that the writer waits for.
    reader_wait: AtomicI32,
    value: UnsafeCell<T>,
}

// SAFETY: it passes the value between threads,
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: and shows it to several at once.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

/// The right to read what an [`RwLock`] protects.
#[must_use = "dropping the guard unlocks the lock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
}

/// The right to change what an [`RwLock`] protects.
#[must_use = "dropping the guard unlocks the lock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
}

impl<T> RwLock<T> {
    /// An unlocked lock.
    pub const fn new(value: T) -> Self {
        RwLock {
            writers: RawMutex::new(),
            writer_sem: AtomicU32::new(0),
            reader_sem: AtomicU32::new(0),
            reader_count: AtomicI32::new(0),
            reader_wait: AtomicI32::new(0),
            value: UnsafeCell::new(value),
        }
    }

    /// The value, whose lock nobody has any more.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Locks for reading; waits until it can.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        if !on_goroutine()
            && let Some(guard) = self.try_read()
        {
            return guard;
        }
        let _guest = must_wait("read");
        // Acquire: pairs with the release of the writer that was last.
        if self.reader_count.fetch_add(1, Ordering::Acquire) + 1 < 0 {
            semacquire1(&self.reader_sem, false, WaitReason::SyncRWMutexRLock);
        }
        RwLockReadGuard { lock: self }
    }

    /// Locks for reading if it can be done at once.
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        let mut count = self.reader_count.load(Ordering::Relaxed);
        while count >= 0 {
            match self.reader_count.compare_exchange(count, count + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(RwLockReadGuard { lock: self }),
                Err(now) => count = now,
            }
        }
        None
    }

    /// Locks for writing; waits until it can.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        if !on_goroutine()
            && let Some(guard) = self.try_write()
        {
            return guard;
        }
        let _guest = must_wait("write");
        self.writers.lock();
        // Acquire and release: readers before and after.
        let readers = self.reader_count.fetch_sub(MAX_READERS, Ordering::AcqRel);
        // Those that leave from now on count down reader_wait, which may be negative already.
        if readers != 0 && self.reader_wait.fetch_add(readers, Ordering::AcqRel) + readers != 0 {
            semacquire1(&self.writer_sem, false, WaitReason::SyncRWMutexLock);
        }
        RwLockWriteGuard { lock: self }
    }

    /// Locks for writing if it can be done at once.
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        if !self.writers.try_lock() {
            return None;
        }
        let announced =
            self.reader_count.compare_exchange(0, -MAX_READERS, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if !announced {
            self.writers.unlock();
        }
        announced.then(|| RwLockWriteGuard { lock: self })
    }

    /// The value, without a lock: nobody else has it.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    fn read_unlock(&self) {
        // Release: what was read comes before what a writer does.
        if self.reader_count.fetch_sub(1, Ordering::Release) - 1 < 0 {
            // A writer waits for the readers that there were.
            if self.reader_wait.fetch_sub(1, Ordering::AcqRel) - 1 == 0 {
                semrelease(&self.writer_sem);
            }
        }
    }

    fn write_unlock(&self) {
        // Release: what was written is seen by readers who come.
        let waiting = self.reader_count.fetch_add(MAX_READERS, Ordering::AcqRel) + MAX_READERS;
        for _ in 0..waiting {
            semrelease(&self.reader_sem);
        }
        self.writers.unlock();
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard is the right to read the value.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard is the right to the value.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the right to the value.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.read_unlock();
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.write_unlock();
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
