//! Locks for the runtime's own data: Go's `lock_futex.go` and `lockrank_on.go`.
//!
//! | file | what |
//! | --- | --- |
//! | [`key`] | the mutex's protocol: two words and a futex |
//! | [`mutex`] | `lock` and `unlock`: the protocol, and the M that holds it |
//! | [`note`] | one-shot events |
//! | [`rank`] | the order in which locks may be taken, checked in debug builds |
//!
//! These block the thread. Goroutines have `sync` for that.

pub(crate) mod key;
pub(crate) mod mutex;
pub(crate) mod note;
pub(crate) mod rank;
#[cfg(not(debug_assertions))]
pub(crate) mod rank_off;
#[cfg(debug_assertions)]
pub(crate) mod rank_on;

pub(crate) use mutex::{lock, lock_on, unlock, unlock_on};
pub(crate) use rank::assert_lock_held;
