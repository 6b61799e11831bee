//! What waits were told of, by stacks: Go's `saveblockevent`, and the buckets of `mprof.go`.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::runtime::arch::systemstack;
use crate::runtime::base::this::whoami;
use crate::runtime::g::callers::{callers, gcallers, left_at};
use crate::runtime::prof::contention::{Contention, RATES, SAVE};

/// How often, and for how long, with what wasn't told of counted in. Go's `blockRecord`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Contended {
    pub(crate) count: f64,
    pub(crate) nanoseconds: f64,
}

/// By stacks; the innermost frame first.
pub(crate) type Buckets = BTreeMap<Vec<usize>, Contended>;

/// Go's `bbuckets` and `xbuckets`.
static BUCKETS: [Mutex<Buckets>; 2] = [const { Mutex::new(Buckets::new()) }; 2];

fn buckets(what: Contention) -> MutexGuard<'static, Buckets> {
    BUCKETS[what as usize].lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds to what is known of the calling stack. Go's `saveblockevent`.
fn saveblockevent(what: Contention, count: f64, nanoseconds: f64) {
    let (gp, _) = whoami();
    systemstack(|| {
        let pcs = match gp {
            // SAFETY: the caller's goroutine, whose stack stays as it left it for g0.
            Some(gp) => unsafe { gcallers(gp, &left_at(gp)) },
            None => callers(),
        };
        let mut buckets = buckets(what);
        let bucket = match buckets.get_mut(pcs.as_slice()) {
            Some(bucket) => bucket,
            None => buckets.entry(pcs.as_slice().to_vec()).or_default(),
        };
        bucket.count += count;
        bucket.nanoseconds += nanoseconds;
    });
}

/// Sets a rate, and returns the former one.
pub(crate) fn set_contention_rate(what: Contention, rate: i64) -> i64 {
    SAVE.get_or_init(|| saveblockevent);
    RATES[what as usize].swap(rate, Ordering::Relaxed)
}

/// What was told of so far.
pub(crate) fn contention(what: Contention) -> Buckets {
    buckets(what).clone()
}
