//! Waiting for the end of a goroutine, with a limit.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::runtime::base::this::goroutine;
use crate::runtime::data::runtime2::G;
use crate::runtime::g::extent::in_run;
use crate::runtime::sched::goexit::{ended, on_time, take_out, wait_for_end, wait_for_end_unless};
use crate::runtime::sched::ready::goready;
use crate::runtime::time::fire::Limit;
use crate::runtime::time::in_run::with_limit_in_run;

/// [`wait_for_end`] that ends with the limit, or with the run. Returns whether `gp` has ended.
#[inline(always)]
pub(crate) fn wait_for_end_limited(gp: &'static G, limit: Option<Limit<'_>>) -> bool {
    if limit.is_some() || in_run() {
        return wait_for_end_or_limit(gp, limit);
    }
    wait_for_end(gp)
}

#[cold]
#[inline(never)]
fn wait_for_end_or_limit(gp: &'static G, limit: Option<Limit<'_>>) -> bool {
    let (me, _) = goroutine();
    let gave_up = AtomicBool::new(false);
    let give_up = || {
        // Relaxed, because the release in take_out follows. A thread that finds the bit that
        // take_out sets sees the flag.
        gave_up.store(true, Ordering::Relaxed);
        take_out(gp, me).then_some(|| goready(me))
    };
    let wait = || wait_for_end_unless(gp, || gave_up.load(Ordering::Relaxed));
    // SAFETY: the flag and `me` stay while give_up may be called. Only the thread that has taken
    // the goroutine out wakes it.
    unsafe { with_limit_in_run(limit, &give_up, wait) };
    on_time(gp);
    ended(gp)
}
