//! From ticks of the processor to nanoseconds since the trace began.
//!
//! How fast the ticks are isn't known, and needn't be: each time that records are read, both clocks
//! are, and what was recorded since the last time lies on the line between.

use crate::runtime::arch::cputicks;
use crate::runtime::base::os::nanotime;

/// Tells the times of records.
pub(super) struct Clock {
    /// When the trace began, in nanoseconds.
    began: i64,
    /// A moment by both clocks, in ticks and in nanoseconds since then.
    ticks: u64,
    ns: f64,
    ns_per_tick: f64,
}

impl Clock {
    /// For a trace that begins now.
    pub(super) fn new() -> Clock {
        let (ticks, began) = both();
        Clock { began, ticks, ns: 0.0, ns_per_tick: 1.0 }
    }

    /// The time at this many ticks, which were read before the last [`look`](Self::look).
    pub(super) fn at(&self, ticks: u64) -> u64 {
        let since = ticks.wrapping_sub(self.ticks) as i64;
        (self.ns + since as f64 * self.ns_per_tick).max(0.0) as u64
    }

    /// Looks at both clocks; what is told from now on was recorded by now.
    pub(super) fn look(&mut self) {
        let (ticks, now) = both();
        let ns = (now - self.began) as f64;
        if ticks > self.ticks && ns > self.ns {
            self.ns_per_tick = (ns - self.ns) / (ticks - self.ticks) as f64;
            (self.ticks, self.ns) = (ticks, ns);
        }
    }
}

/// How often both clocks are read for one moment.
const READINGS: usize = 4;

/// The present moment by both clocks, in ticks and in nanoseconds. Where the thread loses its
/// processor between two clocks, they are far apart: the closest of several readings counts.
fn both() -> (u64, i64) {
    let reading = |_| {
        let (before, ns, after) = (cputicks(), nanotime(), cputicks());
        (after.wrapping_sub(before), before, ns)
    };
    let (_, ticks, ns) = (0..READINGS).map(reading).min().expect("there are readings");
    (ticks, ns)
}
