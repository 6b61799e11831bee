//! The table of futexes, wakes that are left to sysmon, and the table of descriptors.

#[path = "../../../../../src/runtime/stdpark/descriptors.rs"]
mod descriptors;
#[path = "../../../../../src/runtime/stdpark/entry.rs"]
mod entry;
#[path = "../../../../../src/runtime/stdpark/futex_table.rs"]
mod futex_table;
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
mod models_requeue;
mod models_wait;
pub(crate) mod numbers;
mod words;

/// Goroutines may be made ready wherever a model closes a descriptor.
mod gate {
    pub(super) fn may_ready() -> bool {
        true
    }
}

/// A model decides when waits begin anew.
mod watch {
    pub(super) fn watch() {}
}

/// As small as possible.
const BUCKET_BITS: u32 = 1;
const PLACES: usize = 1;
