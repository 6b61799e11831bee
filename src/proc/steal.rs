//! Stealing work from other P's.

use crate::proc::procs::procs;
use crate::proc::runq::runqsteal;
use crate::rand::cheaprand;
use crate::runtime2::{G, P};

/// Goes round all P's this often.
const STEAL_TRIES: u32 = 4;

/// Takes work from another P, in a random order of them; `pp`'s own queue is empty. What is
/// in a `runnext` only in the last round: it is its owner's to run next. Go's `stealWork`.
pub(crate) fn steal_work(pp: &P) -> Option<&'static G> {
    let procs = procs();
    for i in 0..STEAL_TRIES {
        let steal_run_next_g = i == STEAL_TRIES - 1;
        let mut order = procs.steal_order.start(cheaprand());
        while !order.done() {
            let p2 = procs.allp[order.position() as usize];
            if !std::ptr::eq(pp, p2)
                && !procs.idlep_mask.read(p2.id.get())
                && let Some(gp) = runqsteal(pp, p2, steal_run_next_g)
            {
                return Some(gp);
            }
            order.next();
        }
    }
    None
}
