//! The atomics of the other models, and an array of them.

#[allow(unused_imports, unused_macros, reason = "there are more than are modelled")]
#[path = "../../../../src/runtime/data/atomic.rs"]
mod common;

pub(crate) use common::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Cell, Ordering, check, fence, statics,
};

/// An array whose values are made one by one.
macro_rules! array_of {
    [$value:expr; $n:expr] => { std::array::from_fn::<_, { $n }, _>(|_| $value) };
}

pub(crate) use array_of;
