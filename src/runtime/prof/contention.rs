//! Waits of goroutines for each other, and whether they are recorded: a part of Go's `chan.go`,
//! `select.go` and `sema.go`.
//!
//! A sudog says whether its wait counts. If it does, `releasetime` isn't 0, and the goroutine that
//! ends the wait sets it to the time. `acquiretime` is the time at which a wait for a mutex began.
//! From it the unlock computes how long others have waited.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::runtime::base::os::nanotime;
use crate::runtime::data::runtime2::Sudog;
use crate::runtime::prof::profiler_hooks::RECORD_CONTENTION;

/// The kind of a record. Go's `bucketType`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contention {
    /// A wait, recorded by the goroutine that waited.
    Block,
    /// An unlock, recorded by the goroutine that made others wait.
    Mutex,
}

/// The sampling rates. On average, one wait is recorded per `RATES[0]` nanoseconds blocked, and one
/// unlock in `RATES[1]`. 0 disables recording. Go's `blockprofilerate` and `mutexprofilerate`.
pub(super) static RATES: [AtomicI64; 2] = [AtomicI64::new(0), AtomicI64::new(0)];

#[inline(always)]
pub(super) fn rate(what: Contention) -> i64 {
    if cfg!(feature = "pprof") { RATES[what as usize].load(Ordering::Relaxed) } else { 0 }
}

/// The time, for code that runs only while a profile is made.
#[cold]
#[inline(never)]
fn now() -> i64 {
    nanotime()
}

/// A wait that has begun.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Wait {
    /// The time at which it began, in nanoseconds; 0 if it doesn't count.
    since: i64,
}

impl Wait {
    /// Begins a wait, with one sudog or several. Each sudog gets
    /// [`releasetime`](Self::releasetime).
    #[inline(always)]
    pub(in crate::runtime) fn begin() -> Wait {
        Wait { since: if rate(Contention::Block) > 0 { now() } else { 0 } }
    }

    /// Begins the wait of `s` at a semaphore; `mutex` says that the semaphore is a mutex's.
    #[cfg_attr(feature = "pprof", inline(never))]
    pub(in crate::runtime) fn begin_at_sema(s: &Sudog, mutex: bool) -> Wait {
        let (block, mutex) = (rate(Contention::Block) > 0, mutex && rate(Contention::Mutex) > 0);
        let since = if block || mutex { now() } else { 0 };
        s.releasetime.set(if block { -1 } else { 0 });
        s.acquiretime.set(if mutex { since } else { 0 });
        Wait { since }
    }

    /// The `releasetime` for a sudog: not 0 if the wait counts.
    #[inline(always)]
    pub(in crate::runtime) fn releasetime(self) -> i64 {
        if self.since != 0 { -1 } else { 0 }
    }

    /// Ends the wait: the goroutine runs again. If the wait counts, it was woken at `releasetime`.
    /// No lock is held.
    #[inline(always)]
    pub(in crate::runtime) fn end(self, releasetime: i64) {
        if cfg!(feature = "pprof") && releasetime > 0 {
            report_contention(Contention::Block, releasetime - self.since);
        }
    }

    /// [`end`](Self::end) for a wait without a sudog, which lasts until the goroutine runs again.
    #[inline(always)]
    pub(in crate::runtime) fn end_now(self) {
        if cfg!(feature = "pprof") && self.since != 0 {
            self.end(now());
        }
    }
}

/// Notes that the wait of `s` is over: its goroutine is about to be made ready.
#[inline(always)]
pub(in crate::runtime) fn released(s: &Sudog) {
    if cfg!(feature = "pprof") && s.releasetime.get() != 0 {
        s.releasetime.set(now());
    }
}

/// Returns the time now if the wait for a mutex that began at `acquiretime` counts, otherwise 0.
#[inline(always)]
pub(in crate::runtime) fn now_if(acquiretime: i64) -> i64 {
    if cfg!(feature = "pprof") && acquiretime != 0 { now() } else { 0 }
}

/// Passes a wait that is over, or an unlock that others have waited for, to the profiler, which may
/// sample it. No lock is held.
#[cold]
#[inline(never)]
fn report_contention(what: Contention, nanoseconds: i64) {
    RECORD_CONTENTION.get().inspect(|record| record(what, nanoseconds));
}

/// Reports an unlock for which others have waited `nanoseconds` in total. No lock is held.
#[inline(always)]
pub(in crate::runtime) fn mutex_event(nanoseconds: i64) {
    report_contention(Contention::Mutex, nanoseconds);
}
