//! Stand-ins: durations, and setting timers. A timer fires when a model says so.

pub(crate) mod sleep {
    use std::time::{Duration, Instant};

    use crate::runtime::explore::clock::instant_now;

    pub(crate) fn nanos(d: Duration) -> i64 {
        d.as_nanos() as i64
    }

    pub(crate) fn until(deadline: Instant) -> Duration {
        deadline.saturating_duration_since(instant_now())
    }
}

pub(crate) mod modify {
    use std::ffi::c_void;

    use crate::runtime::data::timer::{Timer, TimerFn};

    pub(crate) fn modtimer(
        t: &Timer,
        _when: i64,
        _period: i64,
        f: Option<TimerFn>,
        arg: *mut c_void,
        seq: usize,
    ) -> bool {
        t.f.set(f);
        t.set.replace(Some((arg, seq))).is_some()
    }

    pub(crate) fn deltimer(t: &Timer) -> bool {
        t.set.take().is_some()
    }
}
