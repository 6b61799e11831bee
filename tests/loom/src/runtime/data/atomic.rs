//! The atomics of the protocol code, under loom, and its cells: a model fails if two threads use a
//! cell at once, and nothing orders them.
//!
//! loom treats sequentially consistent accesses as little more than acquire and release, but it
//! does know sequentially consistent fences. So here a fence stands between any two such accesses
//! of a thread, which is the use of their total order. There may be other accesses between the two.
//! The fence orders these as well, although in reality nothing does. So [`check`] runs each model
//! twice: with the fence right before the second access, and with it right after the first.

pub(crate) use loom::cell::Cell;
use loom::sync::atomic as loom_atomic;
pub(crate) use loom::sync::atomic::{Ordering, fence};

thread_local! {
    /// Whether the fence stands after the first of two accesses. All threads of a model run on one
    /// thread of the system's.
    static AFTER_THE_FIRST: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

loom::thread_local! {
    /// Whether this thread has made a sequentially consistent access; if the fence stands after
    /// that access, whether it was the last one.
    static FENCE_IS_DUE: std::cell::Cell<bool> = std::cell::Cell::new(false);
}

/// Checks a model, with the fences at both places. The bound of preemptions is the model's, or a
/// lower one from the environment (`LOOM_MAX_PREEMPTIONS`).
#[cfg(test)]
pub(crate) fn check(preemption_bound: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    let model = std::sync::Arc::new(model);
    for after_the_first in [false, true] {
        AFTER_THE_FIRST.set(after_the_first);
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = builder.preemption_bound.into_iter().chain(preemption_bound).min();
        // A stop of the world takes many steps.
        builder.max_branches = 10_000;
        let model = model.clone();
        builder.check(move || model());
    }
}

/// A part of each atomic. loom remembers the last access to an atomic, and tries another thread's
/// access before it. But a thread that reads and then writes is itself the last one, and loom
/// forgets what other threads have read before. So each access first writes to this.
#[derive(Debug, Default)]
struct Turn(loom_atomic::AtomicU32);

impl Turn {
    /// Precedes an access in `order`. Returns the order that the access still needs: `without`, if
    /// it was in the total order.
    fn take(&self, order: Ordering, without: Ordering) -> Ordering {
        self.0.fetch_add(0, Ordering::Relaxed);
        let in_total_order = order == Ordering::SeqCst;
        let fence_now = FENCE_IS_DUE.with(|due| {
            if AFTER_THE_FIRST.get() {
                due.replace(in_total_order)
            } else {
                in_total_order && due.replace(true)
            }
        });
        if fence_now {
            fence(Ordering::SeqCst);
        }
        if in_total_order { without } else { order }
    }
}

/// Statics, made anew for each run of a model.
macro_rules! statics {
    ($($(#[$meta:meta])* $(pub($($vis:tt)+))? static $name:ident: $type:ty = $value:expr;)*) => {
        loom::lazy_static! { $($(#[$meta])* $(pub($($vis)+))? static ref $name: $type = $value;)* }
    };
}
pub(crate) use statics;

macro_rules! atomics {
    ($($name:ident $(<$t:ident>)?: $value:ty;)*) => { $(
        #[derive(Debug)]
        pub(crate) struct $name $(<$t>)? {
            value: loom_atomic::$name $(<$t>)?,
            turn: Turn,
        }

        impl $(<$t>)? $name $(<$t>)? {
            #[track_caller]
            pub(crate) fn new(value: $value) -> Self {
                Self { value: loom_atomic::$name::new(value), turn: Turn::default() }
            }

            #[track_caller]
            pub(crate) fn load(&self, order: Ordering) -> $value {
                self.value.load(self.turn.take(order, Ordering::Acquire))
            }

            #[track_caller]
            pub(crate) fn store(&self, value: $value, order: Ordering) {
                self.value.store(value, self.turn.take(order, Ordering::Release));
            }

            #[track_caller]
            pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
                self.value.swap(value, self.turn.take(order, Ordering::AcqRel))
            }

            #[track_caller]
            pub(crate) fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let success = self.turn.take(success, Ordering::AcqRel);
                let failure = if failure == Ordering::SeqCst { Ordering::Acquire } else { failure };
                self.value.compare_exchange(current, new, success, failure)
            }

            #[track_caller]
            pub(crate) fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                mut f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut old = self.load(failure);
                while let Some(new) = f(old) {
                    match self.compare_exchange(old, new, success, failure) {
                        Ok(old) => return Ok(old),
                        Err(now) => old = now,
                    }
                }
                Err(old)
            }
        }
    )* };
}

impl<T> AtomicPtr<T> {
    /// Ends the value, because its memory is about to become another value: a model fails unless
    /// all accesses come before.
    #[track_caller]
    pub(crate) fn end_of_life(&mut self) {
        self.value.with_mut(|_| ());
    }
}

macro_rules! numbers {
    ($($name:ident: $value:ty;)*) => { $(
        impl Default for $name {
            fn default() -> Self {
                Self::new(0)
            }
        }

        impl $name {
            #[track_caller]
            pub(crate) fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                self.value.fetch_add(value, self.turn.take(order, Ordering::AcqRel))
            }

            #[track_caller]
            pub(crate) fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                self.value.fetch_sub(value, self.turn.take(order, Ordering::AcqRel))
            }

            #[track_caller]
            pub(crate) fn fetch_max(&self, value: $value, order: Ordering) -> $value {
                self.value.fetch_max(value, self.turn.take(order, Ordering::AcqRel))
            }

            #[track_caller]
            pub(crate) fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                self.value.fetch_or(value, self.turn.take(order, Ordering::AcqRel))
            }

            #[track_caller]
            pub(crate) fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                self.value.fetch_and(value, self.turn.take(order, Ordering::AcqRel))
            }

            #[track_caller]
            pub(crate) fn fetch_xor(&self, value: $value, order: Ordering) -> $value {
                self.value.fetch_xor(value, self.turn.take(order, Ordering::AcqRel))
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
    AtomicUsize: usize;
}

numbers! {
    AtomicI32: i32;
    AtomicI64: i64;
    AtomicU32: u32;
    AtomicU64: u64;
    AtomicUsize: usize;
}
