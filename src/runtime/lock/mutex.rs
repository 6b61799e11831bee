//! Taking and releasing a mutex, with the check of its rank: Go's `lock`, `unlock` and
//! `lockWithRank`. And a mutex in a static.

use crate::runtime::base::this::{Held, this_m};
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

/// [`lock`] for a caller that knows its M: to find it takes three loads, each of which waits for
/// the one before, and that would be felt where goroutines are switched.
#[inline(always)]
pub(in crate::runtime) fn lock_on(mp: Option<&'static M>, l: &Mutex) {
    lock_with_rank(mp, l, get_lock_rank(l));
}

/// [`lock`] as a lock of the given rank. Go's `lockWithRank`.
#[inline(always)]
pub(in crate::runtime) fn lock_ranked(l: &Mutex, rank: LockRank) {
    lock_with_rank(this_m(), l, rank);
}

/// [`lock`], if nobody has the lock; says whether that is so.
pub(in crate::runtime) fn try_lock(l: &Mutex) -> bool {
    try_lock_with_rank(this_m(), l)
}

/// Releases the lock, whose memory stays until this returns. Go's `unlock`.
#[inline(always)]
pub(crate) fn unlock(l: &Mutex) {
    unlock_on(this_m(), l);
}

/// [`unlock`] for a caller that knows its M.
#[inline(always)]
pub(in crate::runtime) fn unlock_on(mp: Option<&'static M>, l: &Mutex) {
    drop(unlock_and_hold(mp, l));
}

/// [`unlock_on`] of an M that keeps its P, while what this returns lives.
#[inline(always)]
pub(in crate::runtime) fn unlock_and_hold(mp: Option<&'static M>, l: &Mutex) -> Option<Held> {
    unlock_with_rank(mp, l)
}
