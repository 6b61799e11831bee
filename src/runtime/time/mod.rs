//! Starting, stopping and resetting timers, on any P. The upper half of Go's `time.go`, and the
//! base of its package `time`.
//!
//! A timer is started on the P of its starter, which keeps the P meanwhile. The starter is a
//! goroutine, or a thread that has become one. Any thread can stop a timer.
//!
//! - A timer that is stopped stays in its heap, marked. A timer that is reset gets its new time
//!   beside the old. The next holder of the heap's lock puts the heap in order.
//! - Setting a timer to an earlier time ends the poll in progress if the poll would sleep longer.
//! - When a timer has fired and the heap is unlocked, the timer's owner may stop it or be gone.
//!   `fire.rs` ensures that a stopped timer has no effect: each setting has a number, and both
//!   sides hold `send_lock`.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `modify.rs` | `addtimer`, `deltimer`, `modtimer` |
//! | `fire.rs` | timers that have no effect once they are stopped or reset; waits that a timer or a cancellation may end: `with_limit`, `Limit` |
//! | `in_run.rs` | `with_limit_in_run`: waits that end with a context's run, too |
//! | `sleep.rs` | `timeSleep`, `resetForSleep`, `goroutineReady`; from durations and instants to the runtime's clock: `when` |

pub(super) mod fire;
pub(super) mod in_run;
pub(super) mod modify;
pub(super) mod sleep;
