//! The heap of timers that each P has.

#[path = "../../../../../../src/runtime/p/timers/adjust.rs"]
pub(crate) mod adjust;
#[path = "../../../../../../src/runtime/p/timers/heap.rs"]
pub(crate) mod heap;
#[cfg(test)]
mod models_timer_heap;
#[path = "../../../../../../src/runtime/p/timers/run.rs"]
pub(crate) mod run;
#[path = "../../../../../../src/runtime/p/timers/timer.rs"]
pub(crate) mod timer;
