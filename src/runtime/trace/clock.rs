//! From ticks of the processor to nanoseconds since the trace began.

use std::sync::OnceLock;

use crate::runtime::arch::cputicks;
use crate::runtime::base::os::nanotime;

/// Both clocks when the runtime started: the longer ago that is, the better is known how fast the ticks are.
static BOOT: OnceLock<(u64, i64)> = OnceLock::new();

/// Notes the time from which on ticks are compared with nanoseconds. When the runtime starts.
pub(in crate::runtime) fn note_boot() {
    BOOT.get_or_init(now);
}

fn now() -> (u64, i64) {
    (cputicks(), nanotime())
}

/// Tells the time of a record: from a moment on, as fast as the ticks were by then.
pub(super) struct Clock {
    since: u64,
    /// The time of that moment.
    ns: f64,
    ns_per_tick: f64,
}

impl Clock {
    /// One for a trace that begins at this many ticks.
    pub(super) fn new(since: u64) -> Clock {
        Clock { since, ns: 0.0, ns_per_tick: ns_per_tick() }
    }

    /// The time at this many ticks; what is earlier than that moment is as that.
    pub(super) fn at(&self, ticks: u64) -> u64 {
        (self.ns + ticks.saturating_sub(self.since) as f64 * self.ns_per_tick) as u64
    }

    /// From this many ticks on, goes as fast as is known by now.
    pub(super) fn adjust(&mut self, ticks: u64) {
        if ticks > self.since {
            *self = Clock { since: ticks, ns: self.at(ticks) as f64, ns_per_tick: ns_per_tick() };
        }
    }
}

fn ns_per_tick() -> f64 {
    let (boot, now) = (*BOOT.get_or_init(now), now());
    (now.1 - boot.1).max(1) as f64 / (now.0 - boot.0).max(1) as f64
}
