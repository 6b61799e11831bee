//! `lock` and `unlock`: the futex mutex, with the M that holds it counted.

use crate::lock::rank::{LockRank, get_lock_rank, lock_with_rank, unlock_with_rank};
use crate::panic::throw;
use crate::proc::m::this_m;
use crate::runtime2::{M, Mutex};

/// Takes the lock; blocks the thread meanwhile. Go's `lock`.
#[inline(always)]
pub(crate) fn lock(l: &Mutex) {
    lock_on(this_m(), l);
}

/// [`lock`] for a caller that knows its M: to find it takes three loads, each of which waits for the one
/// before, and that would be felt where goroutines are switched.
#[inline(always)]
pub(crate) fn lock_on(mp: Option<&'static M>, l: &Mutex) {
    lock_with_rank(mp, l, get_lock_rank(l));
}

/// [`lock`] as a lock of the given rank. Go's `lockWithRank`.
#[inline(always)]
pub(crate) fn lock_ranked(l: &Mutex, rank: LockRank) {
    lock_with_rank(this_m(), l, rank);
}

/// [`lock`] without the check of the rank. Go's `lock2`.
#[inline(always)]
pub(crate) fn lock2(mp: Option<&'static M>, l: &Mutex) {
    if let Some(mp) = mp {
        mp.locks.set(mp.locks.get() + 1);
    }
    l.key.lock();
}

/// Releases the lock, whose memory stays until this returns. Go's `unlock`.
#[inline(always)]
pub(crate) fn unlock(l: &Mutex) {
    unlock_on(this_m(), l);
}

/// [`unlock`] for a caller that knows its M.
#[inline(always)]
pub(crate) fn unlock_on(mp: Option<&'static M>, l: &Mutex) {
    unlock_with_rank(mp, l);
}

/// [`unlock`] without the rank's bookkeeping. Go's `unlock2`.
#[inline(always)]
pub(crate) fn unlock2(mp: Option<&'static M>, l: &Mutex) {
    l.key.unlock();
    if let Some(mp) = mp {
        let locks = mp.locks.get() - 1;
        if locks < 0 {
            throw("runtime·unlock: lock count");
        }
        mp.locks.set(locks);
    }
}
