//! Locks for the runtime's own data: Go's `lock_futex.go` and `lockrank*.go`.
//!
//! They block the thread; a lock that parks a goroutine is in `sync`. While a lock is held,
//! `m.locks` isn't 0, so its holder is neither preempted nor moved. No goroutine parks with a lock
//! held. A park that is to release a lock hands it to `gopark`, which releases it on g0, when the
//! goroutine is off its stack.
//!
//! - A lock is taken in the order of its rank: `rank.rs` has the table, and debug builds check it.
//!   A lock without a rank is a *leaf*: no other leaf is taken while it is held.
//! - An unlock looks at the lock once more after another thread may have got it. So a lock that a
//!   park releases is never in memory that is given back: `key.rs` says why.
//! - One thread sleeps on a note and one wakes it, once each, before the note is cleared again. The
//!   sleeper is on g0, or a thread that isn't ours. A goroutine sleeps on a note in a system call
//!   (`notetsleepg`, in `sched`).
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `mod.rs` | the names that other rooms use |
//! | `key.rs` | the protocol: two words and a futex. `key32`, `mutexContended` |
//! | `mutex.rs` | `lock`, `unlock`, for callers that know their M, and with a rank; `lock2`, `unlock2`, which count the locks in the M; a mutex in a static |
//! | `note.rs` | `noteclear`, `notewakeup`, `notesleep`, `notetsleep`, `notetsleep_internal` |
//! | `port_mutex.rs` | a port's lock, whose memory may go when it is released: Go's protocol, one word |
//! | `rank.rs` | the ranks and their partial order; in debug builds `lockInit`, `lockWithRank`, `assertLockHeld`, `assertWorldStopped`, which do nothing in release builds |

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
