//! How long goroutines wait for a P, and for mutexes: measured for some, as `casgstatus` sees their
//! states. Go's `gTrackingPeriod` and that part of `casgstatus`.

use std::sync::atomic::Ordering;

use crate::runtime::base::os::nanotime;
use crate::runtime::base::rand::cheaprandn;
use crate::runtime::base::this::with_room;
use crate::runtime::data::runtime2::{G, GRUNNABLE, GRUNNING, GWAITING, sched};

/// Of this many times that a goroutine stops running or is made, its time until it runs again is
/// taken once, on average. Go's `gTrackingPeriod`, which is 8: but to read the clock takes as long
/// here as half a switch.
const G_TRACKING_PERIOD: u8 = 128;

/// How many times until the time is taken next: random, so that it isn't always the same step of
/// what a goroutine does again and again.
pub(super) fn next_turn() -> u8 {
    1 + cheaprandn(2 * u32::from(G_TRACKING_PERIOD) - 1) as u8
}

/// For a G that stops running, or is made, and that the caller owns: counts that, and begins to
/// take its time if its turn has come.
#[inline(always)]
pub(super) fn count_down(gp: &G, oldval: u32, newval: u32) {
    let left = gp.tracking_seq.get().wrapping_sub(1);
    gp.tracking_seq.set(left);
    if left == 0 {
        begin(gp, oldval, newval);
    }
}

#[cold]
#[inline(never)]
fn begin(gp: &G, oldval: u32, newval: u32) {
    gp.tracking_seq.set(next_turn());
    gp.tracking.set(true);
    track(gp, oldval, newval);
}

/// Takes the time of a change of state of a G that is tracked. Part of Go's `casgstatus`.
#[cold]
#[inline(never)]
pub(super) fn track(gp: &G, oldval: u32, newval: u32) {
    let for_mutex = gp.waitreason.get().is_mutex_wait();
    let counts = |state| state == GRUNNABLE || state == GWAITING && for_mutex;
    // To read the clock is most of what this costs. A goroutine on a copying stack, which has no
    // room for that, may call this for one that it makes ready.
    let now = if counts(oldval) || counts(newval) { with_room(nanotime) } else { 0 };
    let since = now - gp.tracking_stamp.get();
    match oldval {
        GRUNNABLE => gp.runnable_time.set(gp.runnable_time.get() + since),
        GWAITING if for_mutex => {
            let all = since * i64::from(G_TRACKING_PERIOD);
            sched().total_mutex_wait_time.fetch_add(all, Ordering::Relaxed);
        }
        _ => {}
    }
    gp.tracking_stamp.set(now);
    if newval == GRUNNING {
        gp.tracking.set(false);
        sched().time_to_run.record(gp.runnable_time.replace(0));
    }
}
