//! Setting timers.

#[path = "../../../../src/runtime/time/modify.rs"]
pub(crate) mod modify;

/// Timers that fire. No model's timer feeds a channel.
pub(crate) mod fire {
    use crate::runtime::data::timer::Timer;

    pub(crate) fn locked<R>(_: &Timer, _: impl FnOnce() -> R) -> R {
        unreachable!("no channel has a timer")
    }
}
