//! The lock of a port's in C: a word, of which nothing is used any more once another thread can have it. Go's
//! `lock_futex.go` as it is.
//!
//! The runtime's own locks are looked at once more after they were released, so their memory stays (`key.rs`). A port
//! frees its objects, and the locks in them, as soon as it has the last reference, or when the goroutine goes on that
//! has parked and released the lock. So here a release is one swap, after which only the address is used. It costs
//! some 6 ns more.

use std::mem;

use crossbeam_utils::Backoff;

use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::{futexsleep, futexwakeup, osyield};
use crate::runtime::base::this::{held, hold, this_m};
use crate::runtime::data::atomic::{AtomicU32, Ordering};

const UNLOCKED: u32 = 0;
const LOCKED: u32 = 1;
/// Locked, and somebody may sleep until it is released.
const SLEEPING: u32 = 2;

/// Rounds of spinning before sleeping, each twice as long as the one before.
const ACTIVE_SPIN: u32 = 7;

/// A lock of a port's. All zeros is one that nobody has.
#[repr(C, align(8))]
pub(crate) struct PortMutex {
    pub(in crate::runtime) key: AtomicU32,
    unused: u32,
}

/// Takes a lock; blocks the thread meanwhile. Its owner's M is counted as [`lock`](super::lock) does. Go's `lock2`.
pub(crate) fn lock_of_port(l: &PortMutex) {
    if let Some(mp) = this_m() {
        mem::forget(hold(mp));
    }
    if !take(&l.key, LOCKED) {
        lock_slow(&l.key);
    }
}

/// Takes the lock if it is free: `how` is [`LOCKED`] or [`SLEEPING`].
fn take(key: &AtomicU32, how: u32) -> bool {
    // Acquire pairs with the release in the unlock.
    key.compare_exchange(UNLOCKED, how, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

#[cold]
#[inline(never)]
fn lock_slow(key: &AtomicU32) {
    // Who has slept isn't the only one, perhaps: it takes the lock so that its unlock wakes another.
    let mut how = LOCKED;
    while !spin(key, how) {
        if key.swap(SLEEPING, Ordering::Acquire) == UNLOCKED {
            return;
        }
        how = SLEEPING;
        futexsleep(key, SLEEPING, -1);
    }
}

/// Tries for a while; says whether it got the lock.
fn spin(key: &AtomicU32, how: u32) -> bool {
    let free = || key.load(Ordering::Relaxed) == UNLOCKED && take(key, how);
    let backoff = Backoff::new();
    for _ in 0..ACTIVE_SPIN {
        if free() {
            return true;
        }
        backoff.spin();
    }
    osyield();
    free()
}

/// Releases a lock, whose memory may be gone from the swap on. Go's `unlock2`.
pub(crate) fn unlock_of_port(l: &PortMutex) {
    let mp = this_m();
    match l.key.swap(UNLOCKED, Ordering::Release) {
        UNLOCKED => throw("unlock of unlocked lock"),
        SLEEPING => futexwakeup(&l.key, 1),
        _ => {}
    }
    if mp.is_some_and(|mp| mp.locks.get() <= 0) {
        throw("runtime·unlock: lock count");
    }
    drop(mp.map(held));
}
