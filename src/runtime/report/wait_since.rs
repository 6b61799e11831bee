//! Since when goroutines wait, for reports: `g.waitsince`, which is right to a minute.
//!
//! A park doesn't read the clock. So sysmon looks at all goroutines about once a second
//! (`monitor/dead_stack.rs`), and notes the time of each that has begun to wait. (Go's collector
//! does so, which runs at least every two minutes.)

use crate::runtime::data::runtime2::{G, GSCAN, GSYSCALL, GWAITING};
use crate::runtime::g::status::{casfrom_gscanstatus, castogscanstatus, readgstatus};

/// A minute in nanoseconds.
pub(super) const MINUTE: i64 = 60 * 1000 * 1000 * 1000;

/// Sets `waitsince` of `gp` to `now`, if it waits or is in a system call, and it wasn't set yet.
pub(in crate::runtime) fn note_wait(gp: &G, now: i64) {
    let status = readgstatus(gp);
    if matches!(status, GWAITING | GSYSCALL) && castogscanstatus(gp, status, status | GSCAN) {
        // It is 0 again when the goroutine runs. Even: see `monitor/dead_stack.rs`.
        if gp.waitsince.get() == 0 {
            gp.waitsince.set(now & !1);
        }
        casfrom_gscanstatus(gp, status | GSCAN, status);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::runtime::base::testing::zeroed;
    use crate::runtime::data::runtime2::GRUNNABLE;

    #[test]
    fn the_first_look_counts() {
        let gp: &'static G = zeroed();
        gp.atomicstatus.store(GRUNNABLE, Ordering::Relaxed);
        note_wait(gp, 1);
        assert_eq!(gp.waitsince.get(), 0);
        gp.atomicstatus.store(GWAITING, Ordering::Relaxed);
        note_wait(gp, 3);
        note_wait(gp, 4);
        assert_eq!((gp.waitsince.get(), readgstatus(gp)), (2, GWAITING));
    }
}
