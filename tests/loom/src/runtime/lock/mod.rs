//! Locks and notes. The mutex's protocol has models of its own. In other models, a lock is one of
//! loom's.

#[path = "../../../../../src/runtime/lock/cancel.rs"]
pub(crate) mod cancel;
#[path = "../../../../../src/runtime/lock/key.rs"]
pub(crate) mod key;
mod models_lock;
#[path = "../../../../../src/runtime/lock/mutex.rs"]
pub(crate) mod mutex;
#[path = "../../../../../src/runtime/lock/note.rs"]
pub(crate) mod note;
#[path = "../../../../../src/runtime/lock/port_mutex.rs"]
pub(crate) mod port_mutex;
pub(crate) mod rank;

pub(crate) use mutex::{lock, unlock};
pub(in crate::runtime) use mutex::{lock_on, unlock_and_hold, unlock_on};
pub(crate) use rank::assert_lock_held;
