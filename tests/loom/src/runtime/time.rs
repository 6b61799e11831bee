//! Setting timers.

#[path = "../../../../src/runtime/time/modify.rs"]
pub(crate) mod modify;
