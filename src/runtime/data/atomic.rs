//! The atomics of the protocol code, and the cells that one thread hands to another by them.
//!
//! The code that `loom` checks takes its atomics from here: the links, the run queues, the waking
//! of P's, preemption's signals, the mutex, timers, the wait group, waits on the network, the queue
//! of signals, futures, futexes. `tests/loom` has loom's atomics in place of this file.

pub(crate) use crate::runtime::data::cell::Cell;
#[cfg(feature = "std")]
pub(crate) use std::sync::atomic::AtomicBool;
pub(crate) use std::sync::atomic::{
    AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

/// Defines statics of the protocol code. With `loom` they are made anew for each run of a model.
macro_rules! statics {
    ($($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = $value:expr;)*) => {
        $($(#[$meta])* $vis static $name: $type = $value;)*
    };
}

pub(crate) use statics;

/// `array_of![value; n]` is an array of `n` such constants. With `loom` each is made by itself.
#[cfg(feature = "std")]
macro_rules! array_of {
    [$value:expr; $n:expr] => { [const { $value }; $n] };
}

#[cfg(feature = "std")]
pub(crate) use array_of;
