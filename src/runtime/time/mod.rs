//! Timers that are started, stopped and set anew, on whatever P they are. The upper half of Go's `time.go`,
//! and what is below its package `time`.
//!
//! A timer is started on the P of its starter, which keeps that P meanwhile: a goroutine, or a thread that
//! has become one. Stopping a timer works anywhere.
//!
//! - A timer that is stopped stays in its heap, marked, and one that is set anew gets its new time beside the
//!   old: whoever has the lock of that heap next puts it in order.
//! - A timer that is due earlier than before ends the poll in progress, if that would sleep longer.
//! - When a timer has fired, and the heap is unlocked, its owner may stop it or be gone. `fire.rs` sees to it
//!   that nothing comes of a timer that was stopped: each setting has a number, and `send_lock` is held by
//!   both sides.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `modify.rs` | `addtimer`, `deltimer`, `modtimer` |
//! | `fire.rs` | timers of which nothing is heard once they are stopped or set anew |
//! | `limit.rs` | waits that a timer or a cancellation may end: `with_limit`, `Limit` |
//! | `cancel.rs` | `Cancellation` |
//! | `sleep.rs` | `timeSleep`, `resetForSleep`, `goroutineReady` |
//! | `duration.rs` | from durations and instants to the runtime's clock: `when` |

pub(super) mod cancel;
pub(super) mod duration;
pub(super) mod fire;
pub(super) mod limit;
pub(super) mod modify;
pub(super) mod sleep;
