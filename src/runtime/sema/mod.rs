//! Semaphores and conditions on which goroutines sleep: Go's `sema.go`, the base of its `sync`
//! package. Also the wait behind `block_on`.
//!
//! Think of a sleep and a wakeup that can't miss each other, rather than of a semaphore. A lock is
//! a word elsewhere, and its users come here only to wait.
//!
//! The locks of this room are in two tables, indexed by the hash of an address. A park releases
//! such a lock, so the lock must not be in memory that may be freed by then. A goroutine that is
//! taken off a queue is made ready after the unlock.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `semacquire.rs` | `semacquire`, `semacquire1`, `semrelease`, `semrelease1`; `rootFor`, `semaRoot`: the tree of sleeping goroutines |
//! | `notify_list.rs` | `notifyListAdd`, `notifyListWait`, `notifyListNotifyAll`, `notifyListNotifyOne` |
//! | `join.rs` | `wait_for_end_limited`: a join that may end sooner |
//! | `parker.rs` | `Parker`: a wait that any thread may end, any number of times |

pub(super) mod join;
pub(super) mod notify_list;
pub(super) mod parker;
pub(super) mod semacquire;
