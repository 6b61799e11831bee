//! Lock ranks in release builds: nothing. Go's `lockrank_off.go`.

use crate::runtime::base::this::Held;
use crate::runtime::data::runtime2::{M, Mutex};
use crate::runtime::lock::rank::LockRank;

#[inline(always)]
pub(in crate::runtime) fn lock_init(_l: &Mutex, _rank: LockRank) {}

#[inline(always)]
pub(super) fn get_lock_rank(_l: &Mutex) -> LockRank {
    LockRank::LEAF
}

#[inline(always)]
pub(super) fn lock_with_rank(mp: Option<&'static M>, l: &Mutex, _rank: LockRank) {
    crate::runtime::lock::lock2::lock2(mp, &l.key);
}

pub(super) fn try_lock_with_rank(mp: Option<&'static M>, l: &Mutex) -> bool {
    crate::runtime::lock::lock2::try_lock2(mp, &l.key)
}

#[inline(always)]
pub(super) fn unlock_with_rank(mp: Option<&'static M>, l: &Mutex) -> Option<Held> {
    crate::runtime::lock::lock2::unlock2(mp, &l.key)
}

#[inline(always)]
pub(in crate::runtime) fn acquire_lock_rank(_rank: LockRank) {}

#[inline(always)]
pub(in crate::runtime) fn release_lock_rank(_rank: LockRank) {}

#[inline(always)]
pub(in crate::runtime) fn lock_with_rank_may_acquire(_l: &Mutex, _rank: LockRank) {}

#[inline(always)]
pub(in crate::runtime) fn assert_lock_held(_l: &Mutex) {}

#[inline(always)]
pub(in crate::runtime) fn assert_rank_held(_rank: LockRank) {}

#[inline(always)]
pub(in crate::runtime) fn world_stopped() {}

#[inline(always)]
pub(in crate::runtime) fn world_started() {}

#[inline(always)]
pub(in crate::runtime) fn assert_world_stopped() {}

#[inline(always)]
pub(in crate::runtime) fn assert_world_stopped_or_lock_held(_l: &Mutex) {}
