//! From a `Duration` or an `Instant` to the nanoseconds that timers count in: Go's `when`, in
//! `time/sleep.go`.

use std::time::{Duration, Instant};

use crate::runtime::explore::clock::{instant_now, now};

/// The time `ns` nanoseconds from now, or the end of time if that is earlier. Go's `when`, in
/// `time/sleep.go`.
pub(crate) fn when(ns: i64) -> i64 {
    now().saturating_add(ns)
}

/// A duration in nanoseconds, 292 years at most.
pub(crate) fn nanos(d: Duration) -> i64 {
    i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)
}

/// How long it is until `deadline`, zero if that has passed.
pub(crate) fn until(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(instant_now())
}
