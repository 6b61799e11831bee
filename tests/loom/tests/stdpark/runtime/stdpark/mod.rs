//! The table of futexes, and wakes that are left to sysmon.

#[path = "../../../../../../src/runtime/stdpark/later.rs"]
mod later;
mod models_later;
mod models_limit;
mod models_requeue;
mod models_wait;
#[path = "../../../../../../src/runtime/stdpark/table.rs"]
mod table;
mod words;

/// As small as will do.
mod sizes {
    pub(super) const BUCKET_BITS: u32 = 1;
    pub(super) const PLACES: usize = 1;
}
