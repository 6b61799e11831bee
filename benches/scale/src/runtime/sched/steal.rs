//! Stealing as it ships, or as a variant changes it.

use crate::runtime::base::rand::cheaprand;
use crate::runtime::data::ext::OwesWake;
use crate::runtime::data::runtime2::{M, P};
use crate::runtime::p::procs::procs;
use crate::runtime::p::runq::{runqget, runqsteal};
use crate::runtime::sched::shipped_poll::{self, Stolen, check_timers, earlier};
use crate::sim::count::{Event, Part};
use crate::sim::{count, in_part};
use crate::variants::variant;

pub(super) fn steal_work(mp: &M, pp: &'static P) -> Stolen {
    count(Event::StealRound);
    let stolen = in_part(Part::Steal, || match variant().steal_tries {
        Some(tries) => fewer_rounds(mp, pp, tries),
        None => shipped_poll::steal_work(mp, pp),
    });
    if matches!(stolen, Stolen::Work(..)) {
        count(Event::Stolen);
    }
    stolen
}

/// `steal_work`, with another number of rounds.
fn fewer_rounds(mp: &M, pp: &'static P, tries: u32) -> Stolen {
    let procs = procs();
    let (mut now, mut poll_until, mut ran_timer) = (0, 0, false);
    for i in 0..tries {
        let last = i == tries - 1;
        let mut order = procs.steal_order.start(cheaprand());
        while !order.done() {
            let p2 = procs.allp[order.position() as usize];
            order.next();
            if std::ptr::eq(pp, p2) {
                continue;
            }
            if last && procs.timerp_mask.read(p2.id.get()) {
                let checked = check_timers(mp, p2, now);
                now = checked.now;
                poll_until = earlier(poll_until, checked.poll_until);
                if checked.ran {
                    if let Some((gp, inherit_time)) = runqget(pp.local()) {
                        return Stolen::Work(gp, inherit_time);
                    }
                    ran_timer = true;
                }
            }
            if !procs.idlep_mask.read(p2.id.get())
                && let Some(gp) = runqsteal(pp.local(), p2.steal(), last)
            {
                if last {
                    mp.ext.owes_wake.set(OwesWake::Yes);
                }
                return Stolen::Work(gp, false);
            }
        }
    }
    if ran_timer { Stolen::Again } else { Stolen::Nothing { poll_until } }
}
