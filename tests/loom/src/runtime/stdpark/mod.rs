//! The table of futexes, waits that are queued, wakes that are left to sysmon, and the table of
//! descriptors.

#[path = "../../../../../src/runtime/stdpark/descriptors.rs"]
mod descriptors;
#[path = "../../../../../src/runtime/stdpark/entry.rs"]
mod entry;
#[path = "../../../../../src/runtime/stdpark/futex_table.rs"]
pub(crate) mod futex_table;
#[path = "../../../../../src/runtime/stdpark/known.rs"]
mod known;
mod models_descriptor_claims;
mod models_descriptor_closes;
mod models_descriptor_events;
mod models_descriptor_known;
mod models_descriptor_limits;
mod models_descriptor_unseen;
mod models_later;
mod models_limit;
mod models_queued;
mod models_requeue;
mod models_wait;
pub(crate) mod numbers;
#[path = "../../../../../src/runtime/stdpark/queued.rs"]
pub(crate) mod queued;
pub(crate) mod words;

/// Goroutines may be made ready wherever a model closes a descriptor. Threads are goroutines.
pub(crate) mod gate {
    use crate::runtime::data::atomic::{Ordering, fence};
    use crate::runtime::data::runtime2::G;

    pub(super) fn may_ready() -> bool {
        true
    }

    pub(super) fn is_thread(_: &G) -> bool {
        true
    }

    pub(crate) fn may_park() -> Option<&'static G> {
        Some(G::this())
    }

    pub(crate) fn barrier_after_change() {
        fence(Ordering::SeqCst);
    }
}

/// Waits of C's locks.
pub(crate) mod futex {
    use crate::runtime::stdpark::futex_table::wake;
    use crate::runtime::time::modify::LATER;

    /// The one time that comes.
    pub(crate) struct Deadline;

    impl Deadline {
        pub(crate) fn until(&self) -> i64 {
            LATER
        }
    }

    pub(crate) fn wake_queued(addr: usize, n: u32, bits: u32) {
        wake(addr, n, bits);
    }
}

/// A model decides when waits begin anew.
mod watch {
    pub(super) fn watch() {}
}

/// As small as possible.
const BUCKET_BITS: u32 = 1;
const PLACES: usize = 1;
