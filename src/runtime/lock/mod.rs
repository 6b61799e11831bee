//! Locks for the runtime's own data: Go's `lock_futex.go` and `lockrank*.go`.
//!
//! These locks block the thread. Locks that park a goroutine are in the face `sync`. While a lock
//! is held, `m.locks` isn't 0, so its holder is neither preempted nor moved. No goroutine parks
//! with a lock held. If a park has to release a lock, the goroutine passes the lock to `gopark`. g0
//! then releases it, once the goroutine is off its stack.
//!
//! - Locks are taken in the order of their ranks: `rank.rs` has the table, and debug builds check
//!   the order. A lock without a rank is a *leaf*: no other leaf is taken while it is held.
//! - An unlock first releases the lock and then reads the lock's memory once more. By then another
//!   thread may have the lock. So a lock that a park releases is never in memory that is given
//!   back: `key.rs` says why.
//! - Between two clears of a note, one thread sleeps on it and one thread wakes it, once each. The
//!   sleeper is on g0, or is a thread that isn't ours. A goroutine that sleeps on a note is in a
//!   system call meanwhile (`notetsleepg`, in `sched`).
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `mod.rs` | the names that other rooms use |
//! | `key.rs` | the protocol: two words and a futex. `key32`, `mutexContended` |
//! | `mutex.rs` | `lock`, `unlock`, also for callers that know their M; `lock` with a rank that is checked; `lock2`, `unlock2`, which count the locks in the M; `SharedMutex`, for a static |
//! | `cancel.rs` | `Cancellation`: an event that ends waits |
//! | `note.rs` | `noteclear`, `notewakeup`, `notesleep`, `notetsleep`, `notetsleep_internal` |
//! | `port_mutex.rs` | a port's lock, whose memory the port may free once the lock is released: Go's protocol, one word |
//! | `rank.rs` | the ranks and their partial order; in debug builds `lockInit`, `lockWithRank`, `assertLockHeld`, `assertWorldStopped`, which do nothing in release builds |

pub(super) mod cancel;
mod key;
pub(super) mod mutex;
pub(super) mod note;
pub(super) mod port_mutex;
pub(super) mod rank;

#[cfg(feature = "std")]
pub(super) use mutex::foreign_locks;
pub(crate) use mutex::{lock, unlock};
pub(super) use mutex::{lock_on, unlock_and_hold, unlock_on};
pub(super) use rank::assert_lock_held;
