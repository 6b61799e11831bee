//! The order of locks: Go's `lockrank.go`.
//!
//! A lock may only be taken while the last one taken is listed for its rank in [`PARTIAL_ORDER`].
//! That table has no cycle, so no two threads can wait for each other.

#[cfg(not(debug_assertions))]
pub(in crate::runtime) use crate::runtime::lock::rank_off::*;
#[cfg(debug_assertions)]
pub(in crate::runtime) use crate::runtime::lock::rank_on::*;

use std::fmt;

use crate::runtime::data::runtime2::Mutex;

/// A rank; locks of a lower rank are taken first. Zero is no rank.
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

/// For each rank, those that may be held when it is taken: the part of Go's table
/// that concerns a scheduler's locks. A leaf isn't listed: it may be taken under
/// anything but another leaf.
#[cfg_attr(not(debug_assertions), expect(dead_code))]
pub(super) const PARTIAL_ORDER: &[(LockRank, &[LockRank])] = {
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
    /// An unlocked mutex of no rank. Zeroed memory is one too.
    pub(crate) const fn new() -> Self {
        // SAFETY: all fields are integers, so zero is valid: an unlocked key, and no rank.
        unsafe { std::mem::zeroed() }
    }
}
