//! Since when goroutines wait, for reports: `g.waitsince`, which is right to a minute.
//!
//! A park doesn't read the clock. So sysmon looks at all goroutines once a minute, and sets `waitsince` of
//! each that has begun to wait. (Go's collector does so, which runs at least every two minutes.)

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use crate::runtime::data::runtime2::{G, GSCAN, GSYSCALL, GWAITING};
use crate::runtime::g::allgs::{atomic_all_g, atomic_all_g_index};
use crate::runtime::g::status::{casfrom_gscanstatus, castogscanstatus, readgstatus};

/// A minute in nanoseconds.
pub(super) const MINUTE: i64 = 60 * 1000 * 1000 * 1000;

/// How many goroutines are looked at in one call while others wait for sysmon: this takes less than a
/// millisecond.
const AT_ONCE: usize = 4096;

/// Looks at goroutines, if a minute has passed: at [`AT_ONCE`] of them if sysmon is in a hurry, otherwise at
/// all. `now` is [`nanotime`](crate::runtime::base::os::nanotime). Called by sysmon.
pub(in crate::runtime) fn note_waits(now: i64, in_a_hurry: bool) {
    /// When the next round begins.
    static NEXT: AtomicI64 = AtomicI64::new(0);
    /// Which goroutine is next in this round.
    static AT: AtomicUsize = AtomicUsize::new(0);

    if now < NEXT.load(Ordering::Relaxed) {
        return;
    }
    let (from, all) = (AT.load(Ordering::Relaxed), atomic_all_g());
    let to = if in_a_hurry { all.min(from + AT_ONCE) } else { all };
    (from..to).filter_map(atomic_all_g_index).for_each(|gp| note(gp, now));
    if to == all {
        NEXT.store(now + MINUTE, Ordering::Relaxed);
    }
    AT.store(if to == all { 0 } else { to }, Ordering::Relaxed);
}

/// Sets `waitsince` of `gp`, if it waits or is in a system call, and it wasn't set yet.
fn note(gp: &G, now: i64) {
    let status = readgstatus(gp);
    if matches!(status, GWAITING | GSYSCALL) && castogscanstatus(gp, status, status | GSCAN) {
        // Whoever runs the goroutine next sets it to 0 again.
        if gp.waitsince.get() == 0 {
            // Even: see `monitor/dead_stack.rs`.
            gp.waitsince.set(now & !1);
        }
        casfrom_gscanstatus(gp, status | GSCAN, status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::base::testing::zeroed;
    use crate::runtime::data::runtime2::GRUNNABLE;

    #[test]
    fn the_first_look_counts() {
        let gp: &'static G = zeroed();
        gp.atomicstatus.store(GRUNNABLE, Ordering::Relaxed);
        note(gp, 1);
        assert_eq!(gp.waitsince.get(), 0);
        gp.atomicstatus.store(GWAITING, Ordering::Relaxed);
        note(gp, 3);
        note(gp, 4);
        assert_eq!((gp.waitsince.get(), readgstatus(gp)), (2, GWAITING));
    }
}
