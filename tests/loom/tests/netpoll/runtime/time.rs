//! Durations as they ship, and a stand-in for setting timers: one fires when a model says so.

#[path = "../../../../../src/runtime/time/duration.rs"]
pub(crate) mod duration;

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
