//! Atomics whose every access costs what moving its cache line costs. They have the size of the
//! shipped ones, so words that share a line there share a line here.

use std::sync::atomic as std_atomic;

#[allow(unused_imports, reason = "where the shipped files look for it")]
pub(crate) use crate::runtime::data::cell::Cell;
pub(crate) use std::sync::atomic::Ordering;

use crate::sim::access;
use crate::sim::count;
use crate::sim::lines::Access;

pub(crate) fn fence(_: Ordering) {
    // A fence waits for the store buffer, like a read-modify-write of a word that the thread has
    // alone.
    let own = 0_u64;
    access(&raw const own, Access::Rmw);
}

macro_rules! atomics {
    ($($name:ident $(<$t:ident>)?: $value:ty;)*) => { $(
        #[derive(Debug)]
        #[repr(transparent)]
        pub(crate) struct $name $(<$t>)? (std_atomic::$name $(<$t>)?);

        impl $(<$t>)? $name $(<$t>)? {
            pub(crate) const fn new(value: $value) -> Self {
                Self(std_atomic::$name::new(value))
            }

            /// Reads the value for the simulation, which pays nothing.
            pub(crate) fn peek(&self) -> $value {
                self.0.load(Ordering::Relaxed)
            }

            pub(crate) fn load(&self, _: Ordering) -> $value {
                access(&raw const *self, Access::Load);
                self.peek()
            }

            pub(crate) fn store(&self, value: $value, order: Ordering) {
                // As on x86-64, where the strongest of stores is a swap.
                access(&raw const *self, if order == Ordering::SeqCst { Access::Rmw } else { Access::Store });
                self.0.store(value, Ordering::Relaxed);
            }

            pub(crate) fn swap(&self, value: $value, _: Ordering) -> $value {
                access(&raw const *self, Access::Rmw);
                self.0.swap(value, Ordering::Relaxed)
            }

            pub(crate) fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                _: Ordering,
                _: Ordering,
            ) -> Result<$value, $value> {
                access(&raw const *self, Access::Rmw);
                let result = self.0.compare_exchange(current, new, Ordering::Relaxed, Ordering::Relaxed);
                if result.is_err() {
                    crate::sim::count(count::Event::CasFailed);
                }
                result
            }
        }
    )* };
}

macro_rules! numbers {
    ($($name:ident: $value:ty;)*) => { $(
        impl Default for $name {
            fn default() -> Self {
                Self::new(0)
            }
        }

        impl $name {
            pub(crate) fn fetch_add(&self, value: $value, _: Ordering) -> $value {
                access(&raw const *self, Access::Rmw);
                self.0.fetch_add(value, Ordering::Relaxed)
            }

            pub(crate) fn fetch_sub(&self, value: $value, _: Ordering) -> $value {
                access(&raw const *self, Access::Rmw);
                self.0.fetch_sub(value, Ordering::Relaxed)
            }

            pub(crate) fn fetch_or(&self, value: $value, _: Ordering) -> $value {
                access(&raw const *self, Access::Rmw);
                self.0.fetch_or(value, Ordering::Relaxed)
            }

            pub(crate) fn fetch_and(&self, value: $value, _: Ordering) -> $value {
                access(&raw const *self, Access::Rmw);
                self.0.fetch_and(value, Ordering::Relaxed)
            }
        }
    )* };
}

atomics! {
    AtomicBool: bool;
    AtomicI32: i32;
    AtomicI64: i64;
    AtomicPtr<T>: *mut T;
    AtomicU32: u32;
    AtomicU64: u64;
}

numbers! {
    AtomicI32: i32;
    AtomicI64: i64;
    AtomicU32: u32;
    AtomicU64: u64;
}

impl Default for AtomicBool {
    fn default() -> Self {
        Self::new(false)
    }
}
