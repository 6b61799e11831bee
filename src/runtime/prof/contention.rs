//! Waits for each other, and whether they are told of: a part of Go's `chan.go`, `select.go` and `sema.go`.
//!
//! A sudog says whether its wait counts: then `releasetime` isn't 0, and who ends the wait puts the time there;
//! and `acquiretime` is when a wait for a mutex began, from which the unlock knows what it has cost others.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::runtime::base::os::nanotime;
use crate::runtime::data::runtime2::Sudog;
use crate::runtime::prof::hooks::TELL;

/// What is told of. Go's `bucketType`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contention {
    /// A wait, by who has waited.
    Block,
    /// An unlock, by who made others wait.
    Mutex,
}

/// Of waits, one for each so many nanoseconds is told of; of unlocks, one in so many; none, for 0. Go's
/// `blockprofilerate` and `mutexprofilerate`.
pub(super) static RATES: [AtomicI64; 2] = [AtomicI64::new(0), AtomicI64::new(0)];

#[inline(always)]
pub(super) fn rate(what: Contention) -> i64 {
    if cfg!(feature = "pprof") { RATES[what as usize].load(Ordering::Relaxed) } else { 0 }
}

/// The time, where it is asked for in profiles only.
#[cold]
#[inline(never)]
fn now() -> i64 {
    nanotime()
}

/// A wait that has begun.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Wait {
    /// When, in nanoseconds; 0 if it doesn't count.
    since: i64,
}

impl Wait {
    /// A wait begins, with one sudog or several, each of which gets this [`releasetime`](Self::releasetime).
    #[inline(always)]
    pub(in crate::runtime) fn begin() -> Wait {
        Wait { since: if rate(Contention::Block) > 0 { now() } else { 0 } }
    }

    /// The wait of `s` at a semaphore begins; `mutex` says that it is a mutex's.
    #[cfg_attr(feature = "pprof", inline(never))]
    pub(in crate::runtime) fn begin_at_sema(s: &Sudog, mutex: bool) -> Wait {
        let (block, mutex) = (rate(Contention::Block) > 0, mutex && rate(Contention::Mutex) > 0);
        let since = if block || mutex { now() } else { 0 };
        s.releasetime.set(if block { -1 } else { 0 });
        s.acquiretime.set(if mutex { since } else { 0 });
        Wait { since }
    }

    /// What says in a sudog whether the wait counts.
    #[inline(always)]
    pub(in crate::runtime) fn releasetime(self) -> i64 {
        if self.since != 0 { -1 } else { 0 }
    }

    /// The goroutine runs again, which was woken at `releasetime` if the wait counts. No lock is held.
    #[inline(always)]
    pub(in crate::runtime) fn end(self, releasetime: i64) {
        if cfg!(feature = "pprof") && releasetime > 0 {
            tell(Contention::Block, releasetime - self.since);
        }
    }

    /// [`end`](Self::end) of a wait without a sudog: it lasts until the goroutine runs again.
    #[inline(always)]
    pub(in crate::runtime) fn end_now(self) {
        if cfg!(feature = "pprof") && self.since != 0 {
            self.end(now());
        }
    }
}

/// The wait of `s` is over: its goroutine is about to be made ready.
#[inline(always)]
pub(in crate::runtime) fn released(s: &Sudog) {
    if cfg!(feature = "pprof") && s.releasetime.get() != 0 {
        s.releasetime.set(now());
    }
}

/// Now, if the wait for a mutex that began at `acquiretime` counts; otherwise 0.
#[inline(always)]
pub(in crate::runtime) fn now_if(acquiretime: i64) -> i64 {
    if cfg!(feature = "pprof") && acquiretime != 0 { now() } else { 0 }
}

/// Tells of a wait that is over, or of an unlock that others have waited for so long; it may be drawn. No lock is
/// held.
#[cold]
#[inline(never)]
fn tell(what: Contention, nanoseconds: i64) {
    TELL.get().inspect(|tell| tell(what, nanoseconds));
}

/// Tells of an unlock that others have waited for so long, altogether. No lock is held.
#[inline(always)]
pub(in crate::runtime) fn mutex_event(nanoseconds: i64) {
    tell(Contention::Mutex, nanoseconds);
}
