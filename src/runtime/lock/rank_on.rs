//! Lock ranks in debug builds: Go's `lockrank_on.go`.
//!
//! An M notes the locks that it holds in `m.locks_held`. A thread that isn't ours has no M, and its
//! locks are not checked. A select locks any number of channels, in an order of its own: only the
//! first is noted, and stands for all.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::runtime::base::fatal::throw;
use crate::runtime::base::print::eprintln;
use crate::runtime::base::this::{Held, hold, this_m};
use crate::runtime::data::runtime2::{HeldLockInfo, M, Mutex};
use crate::runtime::lock::lock2::{lock2, try_lock2, unlock2};
use crate::runtime::lock::rank::{LockRank, PARTIAL_ORDER};

/// How often the world is stopped: 0 or 1. Go's `worldIsStopped`.
static WORLD_IS_STOPPED: AtomicU32 = AtomicU32::new(0);

/// Sets a lock's rank, before its first use. Go's `lockInit`.
pub(in crate::runtime) fn lock_init(l: &Mutex, rank: LockRank) {
    l.lock_rank_struct.rank.set(rank.0);
}

/// A lock's rank; one without a rank is a leaf. Go's `getLockRank`.
pub(super) fn get_lock_rank(l: &Mutex) -> LockRank {
    match l.lock_rank_struct.rank.get() {
        0 => LockRank::LEAF,
        rank => LockRank(rank),
    }
}

fn addr(l: &Mutex) -> usize {
    std::ptr::from_ref(l).addr()
}

/// Takes a lock as one of the given rank. Go's `lockWithRank`.
pub(super) fn lock_with_rank(mp: Option<&'static M>, l: &Mutex, rank: LockRank) {
    if let Some(mp) = mp {
        // What is noted here is consistent where a signal handler may take a lock.
        let _held = hold(mp);
        note_held(mp, addr(l), rank);
        return lock2(Some(mp), &l.key);
    }
    lock2(None, &l.key);
}

/// Takes a lock if nobody has it, and says whether it did. A thread that doesn't wait may try any
/// lock, whatever it holds.
pub(super) fn try_lock_with_rank(mp: Option<&'static M>, l: &Mutex) -> bool {
    let _held = mp.map(hold);
    let locked = try_lock2(mp, &l.key);
    if let Some(mp) = mp.filter(|_| locked) {
        note(mp, mp.locks_held_len.get(), HeldLockInfo { rank: get_lock_rank(l).0, lock_addr: addr(l) });
    }
    locked
}

/// Adds a lock to those that `mp` holds, and checks that it may be added.
fn note_held(mp: &M, lock_addr: usize, rank: LockRank) {
    let i = mp.locks_held_len.get();
    let channel = rank == LockRank::HCHAN || rank == LockRank::HCHAN_LEAF;
    if channel && i > 0 && mp.locks_held[i - 1].get().rank == rank.0 {
        return;
    }
    note(mp, i, HeldLockInfo { rank: rank.0, lock_addr });
    if i > 0 {
        check_ranks(mp, mp.locks_held[i - 1].get().rank, rank);
    }
}

/// Adds `lock` to the `i` locks that `mp` holds.
fn note(mp: &M, i: usize, lock: HeldLockInfo) {
    if i >= mp.locks_held.len() {
        throw("too many locks held concurrently for rank checking");
    }
    mp.locks_held[i].set(lock);
    mp.locks_held_len.set(i + 1);
}

/// Takes a lock off those that `mp` holds; says whether it was noted.
fn note_released(mp: &M, lock_addr: usize, rank: Option<LockRank>) -> bool {
    let len = mp.locks_held_len.get();
    let found = (0..len).rev().find(|&i| {
        let held = mp.locks_held[i].get();
        held.lock_addr == lock_addr && rank.is_none_or(|rank| held.rank == rank.0)
    });
    let Some(found) = found else { return false };
    for i in found..len - 1 {
        mp.locks_held[i].set(mp.locks_held[i + 1].get());
    }
    mp.locks_held_len.set(len - 1);
    true
}

/// Prints the locks that `mp` holds. Go's `printHeldLocks`.
fn print_held_locks(mp: &M) {
    let len = mp.locks_held_len.get();
    if len == 0 {
        eprintln!("<none>");
    }
    for (i, held) in mp.locks_held[..len].iter().enumerate() {
        let held = held.get();
        eprintln!("{i} : {} {:#x}", LockRank(held.rank), held.lock_addr);
    }
}

/// Notes a rank without a lock. Go's `acquireLockRank`.
pub(in crate::runtime) fn acquire_lock_rank(rank: LockRank) {
    if let Some(mp) = this_m() {
        note_held(mp, 0, rank);
    }
}

/// Throws unless a lock of rank `rank` may be taken after one of rank `prev`. Go's
/// `checkRanks`.
fn check_ranks(mp: &M, prev: i32, rank: LockRank) {
    let ok = if rank.0 < prev {
        false
    } else if rank == LockRank::LEAF {
        prev < LockRank::LEAF.0
    } else {
        PARTIAL_ORDER
            .iter()
            .find(|(of, _)| *of == rank)
            .is_some_and(|(_, may_be_held)| may_be_held.iter().any(|held| held.0 == prev))
    };
    if !ok {
        eprintln!("{} ======", mp.id.get());
        print_held_locks(mp);
        throw("lock ordering problem");
    }
}

/// Releases a lock. One of a select's channels may not have been noted. Go's `unlockWithRank`.
pub(super) fn unlock_with_rank(mp: Option<&'static M>, l: &Mutex) -> Option<Held> {
    if let Some(mp) = mp
        && !note_released(mp, addr(l), None)
        && get_lock_rank(l) != LockRank::HCHAN
    {
        eprintln!("{} : {} {:#x}", mp.id.get(), get_lock_rank(l), addr(l));
        throw("unlock without matching lock acquire");
    }
    unlock2(mp, &l.key)
}

/// Takes back what [`acquire_lock_rank`] noted. Go's `releaseLockRank`.
pub(in crate::runtime) fn release_lock_rank(rank: LockRank) {
    if let Some(mp) = this_m()
        && !note_released(mp, 0, Some(rank))
    {
        eprintln!("{} : {rank}", mp.id.get());
        throw("lockRank release without matching lockRank acquire");
    }
}

/// Checks that a lock could be taken here, on a path where it seldom is. Go's
/// `lockWithRankMayAcquire`.
pub(in crate::runtime) fn lock_with_rank_may_acquire(l: &Mutex, rank: LockRank) {
    if let Some(mp) = this_m() {
        let _held = hold(mp);
        note_held(mp, addr(l), rank);
        note_released(mp, addr(l), None);
    }
}

/// Whether `mp` holds `l`. Go's `checkLockHeld`.
fn check_lock_held(mp: &M, l: &Mutex) -> bool {
    mp.locks_held[..mp.locks_held_len.get()].iter().any(|held| held.get().lock_addr == addr(l))
}

/// Throws unless the caller holds `l`. Go's `assertLockHeld`.
pub(in crate::runtime) fn assert_lock_held(l: &Mutex) {
    if let Some(mp) = this_m()
        && !check_lock_held(mp, l)
    {
        eprintln!("caller requires lock {:#x} (rank {}), holding:", addr(l), get_lock_rank(l));
        print_held_locks(mp);
        throw("not holding required lock!");
    }
}

/// Throws unless the caller holds a lock of this rank. Go's `assertRankHeld`.
pub(in crate::runtime) fn assert_rank_held(rank: LockRank) {
    if let Some(mp) = this_m()
        && !mp.locks_held[..mp.locks_held_len.get()].iter().any(|held| held.get().rank == rank.0)
    {
        eprintln!("caller requires lock with rank {rank}, holding:");
        print_held_locks(mp);
        throw("not holding required lock!");
    }
}

/// Notes that the world is stopped. Go's `worldStopped`.
pub(in crate::runtime) fn world_stopped() {
    if WORLD_IS_STOPPED.fetch_add(1, Ordering::SeqCst) != 0 {
        throw("recursive world stop");
    }
}

/// Notes that the world is about to run. Go's `worldStarted`.
pub(in crate::runtime) fn world_started() {
    if WORLD_IS_STOPPED.fetch_sub(1, Ordering::SeqCst) != 1 {
        throw("released non-stopped world stop");
    }
}

/// Whether the world is stopped. Go's `checkWorldStopped`.
fn check_world_stopped() -> bool {
    match WORLD_IS_STOPPED.load(Ordering::SeqCst) {
        0 => false,
        1 => true,
        _ => throw("inconsistent world stop count"),
    }
}

/// Throws unless the world is stopped. Go's `assertWorldStopped`.
pub(in crate::runtime) fn assert_world_stopped() {
    if !check_world_stopped() {
        throw("world not stopped");
    }
}

/// Throws unless the world is stopped or the caller holds `l`. Go's
/// `assertWorldStoppedOrLockHeld`.
pub(in crate::runtime) fn assert_world_stopped_or_lock_held(l: &Mutex) {
    if !check_world_stopped()
        && let Some(mp) = this_m()
        && !check_lock_held(mp, l)
    {
        eprintln!("caller requires world stop or lock {:#x} (rank {}), holding:", addr(l), get_lock_rank(l));
        print_held_locks(mp);
        throw("no world stop or required lock!");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::base::testing::{dies, zeroed};

    #[test]
    fn a_wrong_order_is_reported() {
        let report = dies(|| {
            let mp = zeroed::<M>();
            note_held(mp, 0x10, LockRank::HCHAN);
            note_held(mp, 0x20, LockRank::SCHED);
        });
        assert!(report.starts_with("0 ======\n0 : HCHAN 0x10\n1 : SCHED 0x20\n"), "{report}");
        assert!(report.contains("fatal error: lock ordering problem\n"), "{report}");
    }

    #[test]
    fn what_is_only_tried_has_no_order() {
        let (mp, l) = (zeroed::<M>(), zeroed::<Mutex>());
        lock_init(l, LockRank::SCHED);
        note_held(mp, 0x10, LockRank::GSCAN);
        assert!(try_lock_with_rank(Some(mp), l));
        assert!(check_lock_held(mp, l));
        drop(unlock_with_rank(Some(mp), l));
    }
}
