//! Lock ranks in release builds: nothing. Go's `lockrank_off.go`.

use crate::lock::rank::LockRank;
use crate::runtime2::{M, Mutex};

/// The rank of a [`Mutex`]: empty in release builds. Go's `lockRankStruct`.
#[repr(C)]
pub struct LockRankStruct {}

#[inline(always)]
pub(crate) fn lock_init(_l: &Mutex, _rank: LockRank) {}

#[inline(always)]
pub(crate) fn get_lock_rank(_l: &Mutex) -> LockRank {
    LockRank::LEAF
}

#[inline(always)]
pub(crate) fn lock_with_rank(mp: Option<&'static M>, l: &Mutex, _rank: LockRank) {
    crate::lock::mutex::lock2(mp, l);
}

#[inline(always)]
pub(crate) fn unlock_with_rank(mp: Option<&'static M>, l: &Mutex) {
    crate::lock::mutex::unlock2(mp, l);
}

#[inline(always)]
pub(crate) fn acquire_lock_rank(_rank: LockRank) {}

#[inline(always)]
pub(crate) fn release_lock_rank(_rank: LockRank) {}

#[inline(always)]
pub(crate) fn lock_with_rank_may_acquire(_l: &Mutex, _rank: LockRank) {}

#[inline(always)]
pub(crate) fn assert_lock_held(_l: &Mutex) {}

#[inline(always)]
pub(crate) fn assert_rank_held(_rank: LockRank) {}

#[inline(always)]
pub(crate) fn world_stopped() {}

#[inline(always)]
pub(crate) fn world_started() {}

#[inline(always)]
pub(crate) fn assert_world_stopped() {}

#[inline(always)]
pub(crate) fn assert_world_stopped_or_lock_held(_l: &Mutex) {}
