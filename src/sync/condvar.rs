//! [`Condvar`]: Go's `sync/cond.go`.

use std::fmt;

use crate::sema::notify_list::{
    NotifyList, notify_list_add, notify_list_notify_all, notify_list_notify_one, notify_list_wait,
};
use crate::sync::MutexGuard;
use crate::wait::must_wait;

/// A condition that goroutines wait for. Go's `sync.Cond`.
///
/// There are no wakeups without a notification; but between it and the wakeup another
/// goroutine may have had the mutex, so the condition is to be checked again.
pub struct Condvar {
    waiters: NotifyList,
}

impl Condvar {
    /// A condition that nobody waits for.
    pub const fn new() -> Self {
        Condvar { waiters: NotifyList::new() }
    }

    /// Unlocks the guard's mutex, waits for a notification, and locks the mutex again. No
    /// notification after the unlock is missed.
    ///
    /// # Panics
    /// If it is called on no goroutine.
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let _guest = must_wait("Condvar::wait");
        let mutex = guard.mutex();
        let ticket = notify_list_add(&self.waiters);
        drop(guard);
        notify_list_wait(&self.waiters, ticket);
        mutex.lock()
    }

    /// Waits until `condition` is false of the value.
    ///
    /// # Panics
    /// If it has to wait and is on no goroutine.
    #[track_caller]
    pub fn wait_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        while condition(&mut *guard) {
            guard = self.wait(guard);
        }
        guard
    }

    /// Wakes one who waits, the one that has waited longest. Go's `Signal`.
    pub fn notify_one(&self) {
        notify_list_notify_one(&self.waiters);
    }

    /// Wakes all who wait. Go's `Broadcast`.
    pub fn notify_all(&self) {
        notify_list_notify_all(&self.waiters);
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Condvar { .. }")
    }
}
