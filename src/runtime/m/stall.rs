//! Whether the scheduler stands still, as seen by an M that waits for its turn with a goroutine that it keeps from
//! going on.
//!
//! The clock doesn't tell: where a machine has much else to do, nothing may go on for long, and if those who are kept
//! went on for that, there would be all the more to do. So what counts is whether the threads sleep that could have a
//! time slice begin: those that have a P or are about to, and sysmon.

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
}

impl Stall {
    /// Begins to watch.
    pub(super) fn new() -> Self {
        let slices = procs().allp.iter().map(|pp| pp.schedtick.load(Ordering::Relaxed));
        Stall {
            slices: slices.fold(0, u32::wrapping_add),
            rounds: sched().ext.turns.rounds.load(Ordering::Relaxed),
        }
    }

    /// Looks once more: whether no time slice has begun on any P since the last look, and none is about to.
    pub(super) fn look(&mut self) -> bool {
        let now = Stall::new();
        let same = |field: fn(&Stall) -> u32| field(self) == field(&now);
        // Without sysmon no slice ends of one that computes.
        let stands = same(|stall| stall.slices)
            && thread_sleeps(sched().ext.turns.sysmon.load(Ordering::Relaxed))
            && (same(|stall| stall.rounds) || who_have_a_p_sleep());
        *self = now;
        stands
    }
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
