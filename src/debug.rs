//! Settings from the environment: Go's `runtime1.go` and `GODEBUG`.

use std::env;
use std::sync::atomic::{AtomicBool, Ordering};

/// `GODEBUG=randomizescheduler=1`: see [`randomize_scheduler`].
static RANDOMIZE_SCHEDULER: AtomicBool = AtomicBool::new(false);

/// Whether the run queues put goroutines in a random order, which finds races that
/// a tidy order hides. Go's `randomizeScheduler`, a constant there.
#[inline(always)]
pub(crate) fn randomize_scheduler() -> bool {
    RANDOMIZE_SCHEDULER.load(Ordering::Relaxed)
}

/// Reads `GODEBUG`: `name=value` pairs, separated by commas. A name that isn't
/// known is ignored, as Go does. Go's `parsedebugvars`.
pub(crate) fn parsedebugvars() {
    let godebug = env::var("GODEBUG").unwrap_or_default();
    for (name, value) in godebug.split(',').filter_map(|pair| pair.split_once('=')) {
        if name == "randomizescheduler" {
            RANDOMIZE_SCHEDULER.store(value == "1", Ordering::Relaxed);
        }
    }
}

/// The number of P's that `GOMAXPROCS` asks for; none if it isn't a positive
/// number, which Go ignores too.
pub(crate) fn gomaxprocs_from_env() -> Option<i32> {
    let value = env::var("GOMAXPROCS").ok()?;
    if !value.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    value.parse().ok().filter(|&n| n > 0)
}
