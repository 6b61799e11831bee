//! The lock of a port's in C: Go's `lock_futex.go` as it is, without the bookkeeping.
//!
//! The runtime's own locks are read once more after they were released, so their memory stays
//! (`key.rs`). A port may free an object, and the lock in it, as soon as it has the last reference.
//! It may also do so when a goroutine that parked, and so released the lock, goes on. So here a
//! release is one swap, after which only the word's address is used. The swap costs some 6 ns more.

use std::mem;

use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::{futexsleep, futexwakeup};
use crate::runtime::base::this::{held, hold_p, this_m};
use crate::runtime::data::atomic::{AtomicU32, Ordering};
use crate::runtime::lock::key::spin;

const UNLOCKED: u32 = 0;
const LOCKED: u32 = 1;
/// Locked, and a thread may be sleeping until the release.
const SLEEPING: u32 = 2;

/// A lock of a port's. Zeroed memory is an unlocked lock.
#[repr(C, align(8))]
#[derive(Default)]
pub(crate) struct PortMutex {
    pub(in crate::runtime) key: AtomicU32,
    unused: u32,
}

/// Takes a lock of a port's, which has no rank. Go's `lock2`.
pub(crate) fn lock_of_port(l: &PortMutex) {
    if let Some(mp) = this_m() {
        mem::forget(hold_p(mp));
    }
    l.lock();
}

/// Undoes [`lock_of_port`]. Go's `unlock2`.
pub(crate) fn unlock_of_port(l: &PortMutex) {
    if !l.unlock() {
        throw("unlock of unlocked lock");
    }
    let mp = this_m();
    if mp.is_some_and(|mp| mp.locks.get() <= 0) {
        throw("runtime·unlock: lock count");
    }
    drop(mp.map(held));
}

impl PortMutex {
    /// Takes the lock; blocks the thread meanwhile.
    pub(super) fn lock(&self) {
        if !take_lock(&self.key, LOCKED) {
            lock_slow(&self.key);
        }
    }

    /// Releases the lock. After the swap its memory may be gone. Returns whether the lock was held.
    pub(super) fn unlock(&self) -> bool {
        let was = self.key.swap(UNLOCKED, Ordering::Release);
        if was == SLEEPING {
            futexwakeup(&self.key, 1);
        }
        was != UNLOCKED
    }
}

/// Takes the lock if it is free: `how` is [`LOCKED`] or [`SLEEPING`].
fn take_lock(key: &AtomicU32, how: u32) -> bool {
    // Acquire pairs with the release in the unlock.
    key.compare_exchange(UNLOCKED, how, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

#[cold]
#[inline(never)]
fn lock_slow(key: &AtomicU32) {
    // A thread that has slept may not have been the only sleeper, so it takes the lock as SLEEPING:
    // its unlock then wakes another.
    let mut how = LOCKED;
    while !spin(|| key.load(Ordering::Relaxed) == UNLOCKED && take_lock(key, how)) {
        if key.swap(SLEEPING, Ordering::Acquire) == UNLOCKED {
            return;
        }
        how = SLEEPING;
        futexsleep(key, SLEEPING, -1);
    }
}
