//! Locks and notes as they ship. The locks' ranks aren't checked, but waits for the scheduler's
//! lock are counted.

#[path = "../../../../../src/runtime/lock/key.rs"]
pub(crate) mod key;
#[path = "../../../../../src/runtime/lock/mutex.rs"]
pub(crate) mod mutex;
#[path = "../../../../../src/runtime/lock/note.rs"]
pub(crate) mod note;
pub(crate) mod others;
pub(crate) mod rank;

pub(crate) use mutex::{lock, unlock};
pub(in crate::runtime) use mutex::{lock_on, unlock_on};
pub(crate) use rank::assert_lock_held;
