//! Explorations. There is none.

#[path = "../../../../src/runtime/explore/clock.rs"]
pub(crate) mod clock;
