//! Recorded waits, by stacks: Go's `blockevent`, `mutexevent` and `saveblockevent`, in `mprof.go`.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::runtime::arch::systemstack;
use crate::runtime::base::rand::cheaprand;
use crate::runtime::base::this::whoami;
use crate::runtime::g::callers::{callers, gcallers, left_at};
use crate::runtime::prof::contention::{Contention, RATES, rate};
use crate::runtime::prof::profiler_hooks::RECORD_CONTENTION;

/// The estimated number of waits and their total time, unrecorded waits included. Go's
/// `blockRecord`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Contended {
    pub(crate) count: f64,
    pub(crate) nanoseconds: f64,
}

/// The waits by stack; each stack starts with the innermost frame.
pub(crate) type Buckets = BTreeMap<Vec<usize>, Contended>;

/// Go's `bbuckets` and `xbuckets`.
static BUCKETS: [Mutex<Buckets>; 2] = [const { Mutex::new(Buckets::new()) }; 2];

fn buckets(what: Contention) -> MutexGuard<'static, Buckets> {
    BUCKETS[what as usize].lock().unwrap_or_else(PoisonError::into_inner)
}

fn record_contention(what: Contention, nanoseconds: i64) {
    match what {
        Contention::Block => blockevent(nanoseconds),
        Contention::Mutex => mutexevent(nanoseconds),
    }
}

/// Records a wait of `nanoseconds`, if the wait is sampled. Go's `blockevent`.
fn blockevent(nanoseconds: i64) {
    let (rate, nanoseconds) = (rate(Contention::Block), nanoseconds.max(1));
    if rate <= 0 || rate > nanoseconds && random_below(rate) > nanoseconds {
        return;
    }
    // A short wait that is sampled stands for others. Go's saveBlockEventStack.
    let stands_for = (rate as f64 / nanoseconds as f64).max(1.0);
    saveblockevent(Contention::Block, stands_for, stands_for * nanoseconds as f64);
}

/// Records an unlock for which others have waited `nanoseconds`, if the unlock is sampled. Go's
/// `mutexevent`.
fn mutexevent(nanoseconds: i64) {
    let rate = rate(Contention::Mutex);
    if rate > 0 && random_below(rate) == 0 {
        let stands_for = rate as f64;
        saveblockevent(Contention::Mutex, stands_for, stands_for * nanoseconds.max(0) as f64);
    }
}

fn random_below(n: i64) -> i64 {
    ((u64::from(cheaprand()) << 31 ^ u64::from(cheaprand())) % n.unsigned_abs()) as i64
}

/// Adds to the bucket of the calling stack. Go's `saveblockevent`.
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
    RECORD_CONTENTION.get_or_init(|| record_contention);
    RATES[what as usize].swap(rate, Ordering::Relaxed)
}

/// Returns a copy of the waits recorded so far.
pub(crate) fn contention(what: Contention) -> Buckets {
    buckets(what).clone()
}
