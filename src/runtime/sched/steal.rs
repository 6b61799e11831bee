//! Stealing work from other P's: Go's `stealWork`.

use crate::runtime::base::rand::cheaprand;
use crate::runtime::data::ext::OwesWake;
use crate::runtime::data::runtime2::{G, M, P};
use crate::runtime::p::procs::procs;
use crate::runtime::p::runq::{runqget, runqsteal};
use crate::runtime::sched::poll::{check_timers, earlier};

/// How many times a thief visits all P's.
const STEAL_TRIES: u32 = 4;

/// What [`steal_work`] has found.
pub(super) enum Stolen {
    /// A goroutine, and whether it inherits the time slice.
    Work(&'static G, bool),
    /// Timers have run, so there may be work elsewhere.
    Again,
    /// Nothing to do before `poll_until`, when a timer is due; 0 if there is none.
    Nothing {
        /// In nanoseconds.
        poll_until: i64,
    },
}

/// Takes work from another P, visiting the P's in a random order; `pp`, which `mp` has, has no
/// work. Only the last round also runs their timers, and takes a `runnext`, which its owner would
/// run next. Go's `stealWork`.
pub(super) fn steal_work(mp: &M, pp: &'static P) -> Stolen {
    let procs = procs();
    let (mut now, mut poll_until, mut ran_timer) = (0, 0, false);
    for i in 0..STEAL_TRIES {
        let steal_timers_or_run_next_g = i == STEAL_TRIES - 1;
        let mut order = procs.steal_order.start(cheaprand());
        while !order.done() {
            let p2 = procs.allp[order.position() as usize];
            order.next();
            if std::ptr::eq(pp, p2) {
                continue;
            }
            if steal_timers_or_run_next_g && procs.timerp_mask.read(p2.id.get()) {
                let checked = check_timers(mp, p2, now);
                now = checked.now;
                poll_until = earlier(poll_until, checked.poll_until);
                if checked.ran {
                    // A goroutine that a timer has made ready is on our queue, and runqsteal
                    // requires an empty queue.
                    if let Some((gp, inherit_time)) = runqget(pp.local()) {
                        return Stolen::Work(gp, inherit_time);
                    }
                    ran_timer = true;
                }
            }
            if !procs.idlep_mask.read(p2.id.get())
                && let Some(gp) = runqsteal(pp.local(), p2.steal(), steal_timers_or_run_next_g)
            {
                if steal_timers_or_run_next_g {
                    // The goroutine may be from runnext. Then the owner may be about to move the G
                    // that was there before to its ring, and an M that looks now may miss that G.
                    mp.ext.owes_wake.set(OwesWake::Yes);
                }
                return Stolen::Work(gp, false);
            }
        }
    }
    if ran_timer { Stolen::Again } else { Stolen::Nothing { poll_until } }
}
