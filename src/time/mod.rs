//! Time: sleeping, and timers.

pub(crate) mod adjust;
pub(crate) mod heap;
pub(crate) mod modify;
pub(crate) mod run;
pub(crate) mod sleep;
pub(crate) mod timer;

use std::time::{Duration, Instant};

use crate::current::need_goroutine;

/// A duration in nanoseconds, at most some 292 years.
fn nanos(d: Duration) -> i64 {
    i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)
}

/// Parks the running goroutine for at least `d`; its thread goes on with others. Go's `time.Sleep`.
///
/// # Panics
/// If it is called on no goroutine.
#[track_caller]
pub fn sleep(d: Duration) {
    need_goroutine("time::sleep");
    // SAFETY: on a goroutine.
    unsafe { sleep::time_sleep(nanos(d)) }
}

/// [`sleep`] until `deadline` has come.
///
/// # Panics
/// If it is called on no goroutine.
#[track_caller]
pub fn sleep_until(deadline: Instant) {
    sleep(deadline.saturating_duration_since(Instant::now()));
}
