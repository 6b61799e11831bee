//! The order of locks, which debug builds check: Go's `lockrank.go`, `lockrank_on.go` and
//! `lockrank_off.go`.
//!
//! A lock may only be taken while the last one taken is listed for its rank in [`PARTIAL_ORDER`].
//! That table has no cycle, so no two threads can wait for each other.
//!
//! An M notes the locks that it holds in `m.locks_held`. A thread that isn't ours has no M, and its
//! locks are not checked. A select locks any number of channels, in an order of its own. Only the
//! first is noted, and stands for all.

#[cfg(not(debug_assertions))]
pub(in crate::runtime) use off::*;
#[cfg(debug_assertions)]
pub(in crate::runtime) use on::*;

use std::fmt;

use crate::runtime::data::runtime2::Mutex;

/// A rank. Locks of a lower rank are taken first. Zero means no rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct LockRank(pub(in crate::runtime) i32);

macro_rules! ranks {
    ($($name:ident = $value:literal)*) => {
        impl LockRank {
            $(pub(crate) const $name: LockRank = LockRank($value);)*
        }

        impl fmt::Display for LockRank {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self.0 {
                    $($value => stringify!($name),)*
                    _ => "BAD RANK",
                })
            }
        }
    };
}

ranks! {
    SYSMON = 1
    TIMER_SEND = 2
    DEFER = 3
    POLL_DESC = 4
    STD_DESC = 5
    SCHED = 6
    ALLG = 7
    ALLP = 8
    TIMERS = 9
    HCHAN = 10
    NOTIFY_LIST = 11
    SUDOG = 12
    ROOT = 13
    FUTEX = 14
    GSCAN = 15
    HCHAN_LEAF = 16
    STACKPOOL = 17
    STACK_LARGE = 18
    PANIC = 19
    DEADLOCK = 20
    LEAF = 1000
}

/// For each rank, the ranks that may be held when it is taken: the part of Go's table that concerns
/// a scheduler's locks. Leaves aren't listed: a leaf may be taken under any lock except another
/// leaf.
#[cfg_attr(not(debug_assertions), expect(dead_code))]
const PARTIAL_ORDER: &[(LockRank, &[LockRank])] = {
    type R = LockRank;
    &[
        (R::POLL_DESC, &[]),
        (R::STD_DESC, &[R::SYSMON]),
        (R::SCHED, &[R::SYSMON, R::TIMER_SEND, R::POLL_DESC]),
        (R::ALLG, &[R::SYSMON, R::SCHED]),
        (R::ALLP, &[R::SYSMON, R::SCHED]),
        (R::TIMERS, &[R::SYSMON, R::TIMER_SEND, R::POLL_DESC, R::SCHED, R::ALLP, R::TIMERS]),
        (R::HCHAN, &[R::SYSMON, R::TIMER_SEND, R::HCHAN]),
        (R::NOTIFY_LIST, &[R::TIMER_SEND]),
        (R::ROOT, &[R::TIMER_SEND]),
        (R::FUTEX, &[R::TIMER_SEND, R::FUTEX]),
        (R::SUDOG, &[R::SYSMON, R::SCHED, R::HCHAN, R::NOTIFY_LIST]),
        (R::GSCAN, MAY_READY),
        (R::HCHAN_LEAF, &[R::GSCAN, R::HCHAN_LEAF]),
        (R::STACKPOOL, STACK_LOCKS),
        (R::STACK_LARGE, STACK_LOCKS),
        (R::DEADLOCK, &[R::PANIC, R::DEADLOCK]),
    ]
};

/// The locks that may be held when a G's status changes.
const MAY_READY: &[LockRank] = {
    type R = LockRank;
    &[
        R::SYSMON,
        R::TIMER_SEND,
        R::SCHED,
        R::ALLG,
        R::ALLP,
        R::TIMERS,
        R::HCHAN,
        R::NOTIFY_LIST,
        R::ROOT,
        R::FUTEX,
    ]
};

/// The locks that may be held when a stack's lock is taken.
const STACK_LOCKS: &[LockRank] = {
    type R = LockRank;
    &[R::SYSMON, R::SCHED, R::ALLG, R::ALLP, R::TIMERS, R::HCHAN, R::NOTIFY_LIST, R::ROOT, R::FUTEX, R::GSCAN]
};

impl Mutex {
    /// Returns an unlocked mutex without a rank. Zeroed memory is one, too.
    pub(crate) const fn new() -> Self {
        // SAFETY: all fields are integers, so zero is valid: an unlocked key, and no rank.
        unsafe { std::mem::zeroed() }
    }
}

/// The check of ranks, in debug builds.
#[cfg(debug_assertions)]
mod on {
    use std::sync::atomic::{AtomicU32, Ordering};

    use crate::runtime::base::fatal::throw;
    use crate::runtime::base::print::eprintln;
    use crate::runtime::base::this::{Held, hold_p, this_m};
    use crate::runtime::data::runtime2::{HeldLockInfo, M, Mutex};
    use crate::runtime::lock::mutex::{lock2, try_lock2, unlock2};
    use crate::runtime::lock::rank::{LockRank, PARTIAL_ORDER};

    /// 1 if the world is stopped, else 0. Go's `worldIsStopped`.
    // Only for assertions. `worldsema` orders the changes; SeqCst, as Go's atomics are.
    static WORLD_IS_STOPPED: AtomicU32 = AtomicU32::new(0);

    /// Sets a lock's rank, before its first use. Go's `lockInit`.
    pub(in crate::runtime) fn lock_init(l: &Mutex, rank: LockRank) {
        l.lock_rank_struct.rank.set(rank.0);
    }

    /// Returns a lock's rank. A lock without a rank is a leaf. Go's `getLockRank`.
    pub(in crate::runtime::lock) fn get_lock_rank(l: &Mutex) -> LockRank {
        match l.lock_rank_struct.rank.get() {
            0 => LockRank::LEAF,
            rank => LockRank(rank),
        }
    }

    fn addr(l: &Mutex) -> usize {
        std::ptr::from_ref(l).addr()
    }

    /// Takes a lock as one of the given rank. Go's `lockWithRank`.
    pub(in crate::runtime::lock) fn lock_with_rank(mp: Option<&'static M>, l: &Mutex, rank: LockRank) {
        if let Some(mp) = mp {
            // Keeps the list consistent for a signal handler that takes a lock.
            let _held = hold_p(mp);
            note_held(mp, addr(l), rank);
            return lock2(Some(mp), &l.key);
        }
        lock2(None, &l.key);
    }

    /// Takes a lock if nobody has it. Returns whether it did. A thread that doesn't wait may try
    /// any lock, whichever locks it holds.
    pub(in crate::runtime::lock) fn try_lock_with_rank(mp: Option<&'static M>, l: &Mutex) -> bool {
        let _held = mp.map(hold_p);
        let locked = try_lock2(mp, &l.key);
        if let Some(mp) = mp.filter(|_| locked) {
            push_held(
                mp,
                mp.locks_held_len.get(),
                HeldLockInfo { rank: get_lock_rank(l).0, lock_addr: addr(l) },
            );
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
        push_held(mp, i, HeldLockInfo { rank: rank.0, lock_addr });
        if i > 0 {
            check_ranks(mp, mp.locks_held[i - 1].get().rank, rank);
        }
    }

    /// Adds `lock` to the `i` locks that `mp` holds.
    fn push_held(mp: &M, i: usize, lock: HeldLockInfo) {
        if i >= mp.locks_held.len() {
            throw("too many locks held concurrently for rank checking");
        }
        mp.locks_held[i].set(lock);
        mp.locks_held_len.set(i + 1);
    }

    /// Removes a lock from those that `mp` holds. Returns whether the lock was noted.
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
    pub(in crate::runtime::lock) fn unlock_with_rank(mp: Option<&'static M>, l: &Mutex) -> Option<Held> {
        if let Some(mp) = mp
            && !note_released(mp, addr(l), None)
            && get_lock_rank(l) != LockRank::HCHAN
        {
            eprintln!("{} : {} {:#x}", mp.id.get(), get_lock_rank(l), addr(l));
            throw("unlock without matching lock acquire");
        }
        unlock2(mp, &l.key)
    }

    /// Removes the rank that [`acquire_lock_rank`] noted. Go's `releaseLockRank`.
    pub(in crate::runtime) fn release_lock_rank(rank: LockRank) {
        if let Some(mp) = this_m()
            && !note_released(mp, 0, Some(rank))
        {
            eprintln!("{} : {rank}", mp.id.get());
            throw("lockRank release without matching lockRank acquire");
        }
    }

    /// Checks that a lock may be taken here, on a path that seldom takes it. Go's
    /// `lockWithRankMayAcquire`.
    pub(in crate::runtime) fn lock_with_rank_may_acquire(l: &Mutex, rank: LockRank) {
        if let Some(mp) = this_m() {
            let _held = hold_p(mp);
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
        // SeqCst: see `WORLD_IS_STOPPED`.
        if WORLD_IS_STOPPED.fetch_add(1, Ordering::SeqCst) != 0 {
            throw("recursive world stop");
        }
    }

    /// Notes that the world is about to run. Go's `worldStarted`.
    pub(in crate::runtime) fn world_started() {
        // SeqCst: see `WORLD_IS_STOPPED`.
        if WORLD_IS_STOPPED.fetch_sub(1, Ordering::SeqCst) != 1 {
            throw("released non-stopped world stop");
        }
    }

    /// Whether the world is stopped. Go's `checkWorldStopped`.
    fn check_world_stopped() -> bool {
        // SeqCst: see `WORLD_IS_STOPPED`.
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
            eprintln!(
                "caller requires world stop or lock {:#x} (rank {}), holding:",
                addr(l),
                get_lock_rank(l)
            );
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
}

/// The same names in release builds, where they do nothing.
#[cfg(not(debug_assertions))]
mod off {
    use crate::runtime::base::this::Held;
    use crate::runtime::data::runtime2::{M, Mutex};
    use crate::runtime::lock::mutex::{lock2, try_lock2, unlock2};
    use crate::runtime::lock::rank::LockRank;

    #[inline(always)]
    pub(in crate::runtime) fn lock_init(_l: &Mutex, _rank: LockRank) {}

    #[inline(always)]
    pub(in crate::runtime::lock) fn get_lock_rank(_l: &Mutex) -> LockRank {
        LockRank::LEAF
    }

    #[inline(always)]
    pub(in crate::runtime::lock) fn lock_with_rank(mp: Option<&'static M>, l: &Mutex, _rank: LockRank) {
        lock2(mp, &l.key);
    }

    pub(in crate::runtime::lock) fn try_lock_with_rank(mp: Option<&'static M>, l: &Mutex) -> bool {
        try_lock2(mp, &l.key)
    }

    #[inline(always)]
    pub(in crate::runtime::lock) fn unlock_with_rank(mp: Option<&'static M>, l: &Mutex) -> Option<Held> {
        unlock2(mp, &l.key)
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
}
