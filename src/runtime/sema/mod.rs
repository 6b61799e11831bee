//! Semaphores that goroutines sleep on, and conditions: Go's `sema.go`, what its `sync` package is made of.
//!
//! Think of a pair of sleep and wakeup that can't miss each other, not of semaphores: a lock is a word of its
//! own, and comes here only to wait.
//!
//! The locks are in two tables, by the hash of an address: a park releases one, so it must not be in memory
//! that may be gone by then. Whoever is taken out is made ready after the unlock.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `semacquire.rs` | `semacquire`, `semacquire1`, `semrelease`, `semrelease1` |
//! | `root.rs` | `rootFor`, `semaRoot`: the tree of those who sleep |
//! | `notify_list.rs` | `notifyListAdd`, `notifyListWait`, `notifyListNotifyAll`, `notifyListNotifyOne` |
//! | `join.rs` | `wait_for_end_limited`: a join that may end sooner |

pub(super) mod join;
pub(super) mod notify_list;
mod root;
pub(super) mod semacquire;
