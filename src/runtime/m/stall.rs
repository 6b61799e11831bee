//! Whether the scheduler stands still, as seen by an M that waits for its turn with a goroutine
//! that it keeps from going on.
//!
//! The clock doesn't tell: where a machine has much else to do, nothing may go on for long, and if
//! those who are kept went on for that, there would be all the more to do. So what counts is
//! whether the threads sleep that could have a time slice begin: those that have a P or are about
//! to, and sysmon.
//!
//! They may sleep for another reason, as where a machine waits for its disk. So not all who are
//! kept go on: at first one, then two, four, and so on. A hundred that compute at once would keep
//! the processors from sysmon, which alone can have them wait again.

use std::sync::atomic::Ordering;

use crate::runtime::base::os::thread_sleeps;
use crate::runtime::data::runtime2::{M, sched};
use crate::runtime::m::count::ALLM;
use crate::runtime::p::procs::procs;

/// How long such an M sleeps between two looks, in nanoseconds.
pub(super) const LOOK_NS: i64 = 50 * 1000 * 1000;

/// What was seen.
pub(super) struct Stall {
    /// How many time slices have begun.
    slices: u32,
    /// How often sysmon has looked.
    rounds: u32,
    /// In how many looks in succession it stood still.
    stood: u32,
}

impl Stall {
    /// Begins to watch.
    pub(super) fn new() -> Self {
        Stall { slices: slices_begun(), rounds: sched().ext.turns.rounds.load(Ordering::Relaxed), stood: 0 }
    }

    /// Looks once more: if no time slice has begun on any P since the last look, and none is about
    /// to, how many of those who are kept may go on; else 0.
    pub(super) fn look(&mut self) -> usize {
        let now = Stall::new();
        let same = |field: fn(&Stall) -> u32| field(self) == field(&now);
        // Without sysmon no slice ends of one that computes.
        let stands = same(|stall| stall.slices)
            && thread_sleeps(sched().ext.turns.sysmon.load(Ordering::Relaxed))
            && (same(|stall| stall.rounds) || who_have_a_p_sleep());
        *self = Stall { stood: if stands { self.stood + 1 } else { 0 }, ..now };
        places(self.stood)
    }
}

/// How many time slices have begun, on all P's.
pub(super) fn slices_begun() -> u32 {
    procs().allp.iter().map(|pp| pp.schedtick.load(Ordering::Relaxed)).fold(0, u32::wrapping_add)
}

/// How many may go on after `looks` in succession, or when they were asked that often, in vain.
pub(in crate::runtime) fn places(looks: u32) -> usize {
    looks.checked_sub(1).map_or(0, |before| 1 << before.min(31))
}

/// Whether all threads sleep that have a P, or are given one.
fn who_have_a_p_sleep() -> bool {
    // Acquire pairs with allocm. An M stays on the list.
    let first = ALLM.0.load(Ordering::Acquire);
    let mut have_one = std::iter::successors(first, |mp| mp.alllink.get())
        .filter(|mp: &&M| !mp.p.is_null() || !mp.nextp.is_null());
    sched().ext.turns.starting.load(Ordering::Relaxed) <= 0
        && have_one.all(|mp| thread_sleeps(mp.procid.load(Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use super::places;

    #[test]
    fn more_go_on_the_longer_it_stands_still() {
        assert_eq!([0, 1, 2, 3, 8].map(places), [0, 1, 2, 4, 128]);
        assert!(places(u32::MAX) > 1_000_000);
    }
}
