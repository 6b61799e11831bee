//! [`ShortMutex`]: a lock that is only held for a few instructions.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};

use crate::runtime::runtime2;
use crate::runtime::{lock, unlock};

/// A lock of the runtime's, and the value that it protects. The holder keeps its P, and isn't
/// preempted. A caller that finds the lock taken blocks its thread. So the value can be changed
/// where nothing parks, as in a `drop`.
///
/// The holder doesn't park, and takes no other lock of the runtime's. So it doesn't use channels.
/// It calls no code of the program's, except for the allocator.
pub(crate) struct ShortMutex<T> {
    lock: runtime2::Mutex,
    value: UnsafeCell<T>,
}

// SAFETY: the lock belongs to no thread while nobody holds it.
unsafe impl<T: Send> Send for ShortMutex<T> {}
// SAFETY: the value is accessed with the lock held, by one thread after the other.
unsafe impl<T: Send> Sync for ShortMutex<T> {}
// Nothing panics while the value is changed.
impl<T> UnwindSafe for ShortMutex<T> {}
impl<T> RefUnwindSafe for ShortMutex<T> {}

impl<T> ShortMutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        ShortMutex { lock: runtime2::Mutex::new(), value: UnsafeCell::new(value) }
    }

    /// Takes the lock. Blocks the thread meanwhile.
    pub(crate) fn lock(&self) -> ShortMutexGuard<'_, T> {
        lock(&self.lock);
        ShortMutexGuard { mutex: self, on_one_thread: PhantomData }
    }
}

/// Releases the lock when it is dropped.
#[must_use = "the lock is released when the guard is dropped"]
pub(crate) struct ShortMutexGuard<'a, T> {
    mutex: &'a ShortMutex<T>,
    /// The M counts the locks that it holds.
    on_one_thread: PhantomData<*const ()>,
}

impl<T> Deref for ShortMutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held, and the guard is borrowed for as long as the reference lives.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T> DerefMut for ShortMutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and the guard is borrowed mutably for as long as the reference
        // lives.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T> Drop for ShortMutexGuard<'_, T> {
    fn drop(&mut self) {
        // The memory stays until this returns: the guard borrows the mutex.
        unlock(&self.mutex.lock);
    }
}
