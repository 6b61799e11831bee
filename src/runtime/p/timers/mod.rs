//! A P's timers: their heap, and running those that are due. The bottom half of Go's `time.go`;
//! starting and stopping them is in `time`.
//!
//! - `timers_lock` protects the heap. A timer's state is changed by compare-and-swap, by anyone,
//!   without the lock: `timer.rs` has the states, and who may change which.
//! - A timer's `f` is called on g0 with a P, and with no lock held: from that moment on the timer
//!   is its owner's, who may set it anew, or be gone.
//! - When the next timer is due can be read without the lock (`nobarrierWakeTime`), by an M without
//!   a P too.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `timer.rs` | the states; `badTimer`; timers from the pool and back |
//! | `heap.rs` | `doaddtimer`, `dodeltimer`, `siftupTimer`, `siftdownTimer`, `updateTimer0When` |
//! | `adjust.rs` | `cleantimers`, `adjusttimers`, `clearDeletedTimers`, `moveTimers` |
//! | `run.rs` | `runtimer`, `runOneTimer`, `nobarrierWakeTime` |

pub(in crate::runtime) mod adjust;
pub(in crate::runtime) mod heap;
pub(in crate::runtime) mod run;
pub(in crate::runtime) mod timer;
