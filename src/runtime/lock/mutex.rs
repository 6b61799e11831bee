//! Taking and releasing a mutex. Go's `lock`, `unlock` and `lockWithRank` check its rank. `lock2`
//! and `unlock2`, beneath them, count it in the M that holds it. And a mutex in a static.

#[cfg(feature = "std")]
use std::cell::Cell;
use std::mem;

use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::{Held, held, hold_p, this_m};
use crate::runtime::data::ext::MutexKey;
use crate::runtime::data::runtime2::{M, Mutex};
use crate::runtime::lock::rank::{
    LockRank, get_lock_rank, lock_with_rank, try_lock_with_rank, unlock_with_rank,
};

/// A [`Mutex`] in a static.
pub(in crate::runtime) struct SharedMutex(pub(in crate::runtime) Mutex);

// SAFETY: a mutex is made to be shared; its rank, the one plain cell, is set before threads use it.
unsafe impl Sync for SharedMutex {}

/// Takes the lock; blocks the thread meanwhile. Go's `lock`.
#[inline(always)]
pub(crate) fn lock(l: &Mutex) {
    lock_on(this_m(), l);
}

/// [`lock`] for a caller that knows its M. Finding the M takes three loads, each of which waits for
/// the load before, and that would show in a switch of goroutines.
#[inline(always)]
pub(in crate::runtime) fn lock_on(mp: Option<&'static M>, l: &Mutex) {
    lock_with_rank(mp, l, get_lock_rank(l));
}

/// [`lock`] as a lock of the given rank. Go's `lockWithRank`.
#[inline(always)]
pub(in crate::runtime) fn lock_ranked(l: &Mutex, rank: LockRank) {
    lock_with_rank(this_m(), l, rank);
}

/// Takes the lock if nobody has it. Returns whether it did.
pub(in crate::runtime) fn try_lock(l: &Mutex) -> bool {
    try_lock_with_rank(this_m(), l)
}

/// Releases the lock. Its memory must stay until this returns. Go's `unlock`.
#[inline(always)]
pub(crate) fn unlock(l: &Mutex) {
    unlock_on(this_m(), l);
}

/// [`unlock`] for a caller that knows its M.
#[inline(always)]
pub(in crate::runtime) fn unlock_on(mp: Option<&'static M>, l: &Mutex) {
    drop(unlock_and_hold(mp, l));
}

/// [`unlock_on`], but the M keeps its P as long as the returned value lives.
#[inline(always)]
pub(in crate::runtime) fn unlock_and_hold(mp: Option<&'static M>, l: &Mutex) -> Option<Held> {
    unlock_with_rank(mp, l)
}

/// [`lock`](super::lock) without the check of the rank. Go's `lock2`.
#[inline(always)]
pub(super) fn lock2(mp: Option<&'static M>, key: &MutexKey) {
    match mp {
        Some(mp) => mem::forget(hold_p(mp)),
        None => count_foreign(1),
    }
    key.lock();
}

/// [`lock2`] if nobody has the lock. Returns whether it took the lock.
pub(super) fn try_lock2(mp: Option<&'static M>, key: &MutexKey) -> bool {
    let held = mp.map(hold_p);
    let locked = key.try_lock();
    if locked {
        mem::forget(held);
    }
    if locked && mp.is_none() {
        count_foreign(1);
    }
    locked
}

/// [`unlock`](super::unlock) without the rank's bookkeeping. The M keeps its P as long as the
/// returned value lives. Go's `unlock2`.
#[inline(always)]
pub(super) fn unlock2(mp: Option<&'static M>, key: &MutexKey) -> Option<Held> {
    key.unlock();
    if mp.is_none() {
        count_foreign(-1);
    }
    if mp.is_some_and(|mp| mp.locks.get() <= 0) {
        throw("runtime·unlock: lock count");
    }
    mp.map(held)
}

#[cfg(feature = "std")]
thread_local! {
    /// The number of locks that a thread which isn't ours holds.
    static FOREIGN_LOCKS: Cell<i32> = const { Cell::new(0) };
}

/// Returns how many locks this thread, which isn't ours, holds or is about to take. A signal
/// handler may call this.
#[cfg(feature = "std")]
#[cfg_attr(any(asan, tsan), allow(dead_code))] // as `stdpark`
pub(in crate::runtime) fn foreign_locks() -> i32 {
    FOREIGN_LOCKS.get()
}

/// Adds to the number of locks of a thread that isn't ours. Its signal handler mustn't wait for
/// these.
#[inline(always)]
fn count_foreign(_more: i32) {
    #[cfg(feature = "std")]
    FOREIGN_LOCKS.set(FOREIGN_LOCKS.get() + _more);
}
