//! How large the tables are. `loom` checks them with fewer places (`tests/loom`).

/// The table of futexes has 2 to this power buckets.
pub(super) const BUCKET_BITS: u32 = 14;

/// How many wakes can be left to sysmon at a time.
pub(super) const PLACES: usize = 64;
