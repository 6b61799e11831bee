//! Waiting for the end of a goroutine, with a limit.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::runtime::base::this::goroutine;
use crate::runtime::data::runtime2::G;
use crate::runtime::sched::goexit::{on_time, take_out, wait_for_end_unless};
use crate::runtime::sched::ready::goready;
use crate::runtime::time::fire::{Limit, with_limit};

/// [`wait_for_end`](crate::runtime::sched::goexit::wait_for_end) with a limit.
pub(crate) fn wait_for_end_limited(gp: &'static G, limit: Limit<'_>) {
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
    unsafe { with_limit(limit, &give_up, wait) };
    on_time(gp);
}
