//! The atomics of the protocol code: std's, or loom's when loom checks it.
//!
//! Only what is compiled both ways takes them from here: the links, the run queue, the waking of
//! P's, the mutex. `tests/loom` compiles these files under `cfg(loom)`.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering, fence};

/// Stands between a sequentially consistent write and sequentially consistent reads after it,
/// where their total order matters, and does nothing: the order is theirs. But loom takes such
/// accesses for acquire and release, and needs a fence.
#[inline(always)]
pub(crate) fn seq_cst_accesses() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, Ordering, fence};
