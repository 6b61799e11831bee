//! The atomics of the protocol code, and the cells that its parties hand to one another.
//!
//! What `loom` checks, too, takes them from here: the links, the run queue, the waking of P's, the
//! mutex, timers, the wait group. `tests/loom` has its own in place of this file.

pub(crate) use std::cell::Cell;
pub(crate) use std::sync::atomic::{
    AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

/// Statics of the protocol code: `loom` makes them anew for each run of a model.
macro_rules! statics {
    ($(static $name:ident: $type:ty = $value:expr;)*) => { $(static $name: $type = $value;)* };
}
pub(crate) use statics;
