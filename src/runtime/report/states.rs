//! How many goroutines run, can run, wait, or are outside of the scheduler, and how many threads
//! there are: Go's `schedStatsAggregate`, in `metrics.go`, since Go 1.26.

use std::sync::atomic::Ordering;

use crate::runtime::base::this::started;
use crate::runtime::data::runtime2::{GRUNNING, GSCAN, GSYSCALL, sched};
use crate::runtime::g::status::readgstatus;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::thread::{ALLM, mcount};
use crate::runtime::p::free_lists::gcount;
use crate::runtime::p::procs::procs;
use crate::runtime::report::traceback::is_detached;

/// What goroutines do, at about one moment.
#[derive(Default)]
pub(super) struct States {
    /// Goroutines that were made since the program's start.
    pub(super) created: u64,
    /// Goroutines that run on a P.
    pub(super) running: u64,
    /// Goroutines in a queue.
    pub(super) runnable: u64,
    /// Goroutines in a system call, in `blocking` or detached. Go's `gNonGo`.
    pub(super) not_in_go: u64,
    /// All others.
    pub(super) waiting: u64,
    /// The runtime's threads.
    pub(super) threads: u64,
}

/// Go's `schedStatsAggregate.compute`. Go looks at P's for the goroutines that run. A P may be
/// looking for a goroutine, so this looks at M's. Allocates nothing.
pub(super) fn states() -> States {
    let mut states = States::default();
    if !started() {
        return states;
    }
    // A destroyed P's count goes to the common one with the lock held.
    lock(&sched().lock);
    states.created = sched().ext.goroutines_created.load(Ordering::Relaxed);
    states.runnable = sched().runqsize.load(Ordering::Relaxed).max(0) as u64;
    for pp in &procs().allp {
        states.created += pp.ext.goroutines_created.load(Ordering::Relaxed);
        states.runnable += u64::from(pp.steal().len()) + u64::from(!pp.runnext.is_null());
    }
    let mut foreign = 0;
    // Acquire pairs with mcommoninit.
    let mut next = ALLM.0.load(Ordering::Acquire);
    while let Some(mp) = next {
        next = mp.alllink.get();
        foreign += u64::from(mp.isextra.get());
        let Some(gp) = mp.curg.get().filter(|gp| !gp.ext.system.get()) else { continue };
        match readgstatus(gp) & !GSCAN {
            GRUNNING if !is_detached(gp) => states.running += 1,
            GRUNNING | GSYSCALL => states.not_in_go += 1,
            _ => {}
        }
    }
    states.threads = (mcount().max(0) as u64).saturating_sub(foreign);
    unlock(&sched().lock);
    let others = states.running + states.runnable + states.not_in_go;
    states.waiting = (gcount() as u64).saturating_sub(others);
    states
}
