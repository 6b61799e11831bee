//! The chapters of the crate's `time` that are checked.

#[path = "../../../src/time/adjust.rs"]
pub(crate) mod adjust;
#[path = "../../../src/time/heap.rs"]
pub(crate) mod heap;
#[path = "../../../src/time/modify.rs"]
pub(crate) mod modify;
#[path = "../../../src/time/run.rs"]
pub(crate) mod run;
#[path = "../../../src/time/timer.rs"]
pub(crate) mod timer;
