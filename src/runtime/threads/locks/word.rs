//! The word of a mutex, as glibc has it: 0 is free, 1 is locked, and 2 is locked, and perhaps
//! waited for.
//!
//! A thread that waits has made the word 2, and sleeps while it is 2. As others may sleep, too, it
//! makes the word 2 again when it takes the lock. A release makes the word 0, and wakes one if it
//! was 2.
//!
//! `loom` checks this file (`tests/loom`).

use crate::runtime::data::atomic::{AtomicU32, Ordering};

pub(super) const FREE: u32 = 0;
pub(super) const LOCKED: u32 = 1;
pub(super) const WAITED_FOR: u32 = 2;

/// Takes the lock, if it is free.
#[inline(always)]
pub(super) fn try_lock(word: &AtomicU32) -> bool {
    // Acquire pairs with the release of the last owner.
    word.compare_exchange(FREE, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Takes the lock. `wait` sleeps while the word has that value, or returns at once. If it returns
/// an error, this returns the error, and has nothing to undo.
pub(super) fn lock_slowly<E>(
    word: &AtomicU32,
    mut wait: impl FnMut(&AtomicU32, u32) -> Result<(), E>,
) -> Result<(), E> {
    // Acquire pairs with the release of the last owner. Release pairs with a release in glibc,
    // whose caller then sees that there are goroutines (`by_glibc`).
    while word.swap(WAITED_FOR, Ordering::AcqRel) != FREE {
        wait(word, WAITED_FOR)?;
    }
    Ok(())
}

/// Releases the lock. Returns whether the caller has to wake one that waits. The word may be gone.
#[inline(always)]
pub(super) fn unlock(word: &AtomicU32) -> bool {
    // Release pairs with the next owner.
    word.swap(FREE, Ordering::Release) == WAITED_FOR
}

/// Notes that nobody waits. Returns whether the caller has to wake all that wait: they note again
/// that they do.
pub(super) fn forget_waiters(word: &AtomicU32) -> bool {
    // Release pairs with the swap of a waiter, which then sees what the caller did before.
    word.compare_exchange(WAITED_FOR, LOCKED, Ordering::Release, Ordering::Relaxed).is_ok()
}
