//! Stand-in: the constants of timers.

pub(crate) const MAX_WHEN: i64 = i64::MAX;
