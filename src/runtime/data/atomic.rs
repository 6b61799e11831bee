//! The atomics of the protocol code, and the cells that one thread hands to another by them.
//!
//! The code that `loom` checks takes its atomics from here: the structs, the run queues, the waking
//! of P's, preemption's signals, locks, timers, the wait group, waits on the network, the queue
//! of signals, futures, futexes. `tests/loom` has loom's atomics in place of this file. An atomic
//! of `std` orders nothing, and loom doesn't try what other threads may find in it.

pub(crate) use crate::runtime::data::cell::Cell;
pub(crate) use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
