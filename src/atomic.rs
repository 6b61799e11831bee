//! The atomics of the protocol code: std's, or loom's when loom checks it.
//!
//! Only what is compiled both ways takes them from here: the links, the run
//! queue, the waking of P's, the mutex.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU32, Ordering, fence};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, Ordering, fence};
