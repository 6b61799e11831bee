//! The time of an exploration: it stands still while a goroutine can run, and then jumps to the
//! next timer.
//!
//! It begins with the real time, so that an `Instant` of std's is only a little later than the
//! run's. Its timers are in a heap of a P, handled by the same functions. That P has nothing but
//! timers, and no M ever has it.

use std::alloc::{Layout, alloc_zeroed};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

#[cfg(feature = "std")]
use libc::{
    CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE, CLOCK_REALTIME, CLOCK_REALTIME_COARSE, clockid_t, timespec,
};

use crate::runtime::arch::getg;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::nanotime;
use crate::runtime::data::hchan::Hchan;
use crate::runtime::data::runtime2::P;
use crate::runtime::data::timer::{
    MAX_WHEN, TIMER_DELETED, TIMER_DROPPED, TIMER_MODIFIED_EARLIER, TIMER_MODIFIED_LATER, Timer,
};
use crate::runtime::g::explored::{acting, exploring, is_explored};
use crate::runtime::lock::rank::{LockRank, lock_init};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::p::timer_heap::{Taken, adjusttimers, drop_timers, nobarrier_wake_time, take_due};

/// The run's time in nanoseconds, as [`nanotime`] counts.
static NOW: AtomicI64 = AtomicI64::new(0);

/// The P that only has timers.
struct Heap(&'static P);

// SAFETY: its timers are touched with its lock held.
unsafe impl Send for Heap {}
// SAFETY: its timers are touched with its lock held.
unsafe impl Sync for Heap {}

fn heap() -> &'static P {
    static HEAP: OnceLock<Heap> = OnceLock::new();
    let Heap(heap) = HEAP.get_or_init(|| {
        // SAFETY: a P isn't of size 0; all zero is a valid P; and this P is leaked.
        let heap = unsafe { alloc_zeroed(Layout::new::<P>()).cast::<P>().as_ref() };
        let Some(heap) = heap else { throw("out of memory for the clock of an exploration") };
        lock_init(&heap.timers_lock, LockRank::TIMERS);
        Heap(heap)
    });
    heap
}

/// Whether the run's time is the caller's time.
#[inline]
pub(super) fn is_ours() -> bool {
    exploring() && ours()
}

#[cold]
fn ours() -> bool {
    match getg().and_then(|gp| gp.m.get()) {
        Some(mp) => mp.curg.get().map_or_else(|| mp.p().is_some() && acting(), is_explored),
        None => false,
    }
}

/// Returns the time in nanoseconds: the run's for a goroutine of an exploration and its timers,
/// otherwise the clock's.
#[inline]
pub(crate) fn now() -> i64 {
    if is_ours() { NOW.load(Ordering::Relaxed) } else { nanotime() }
}

/// [`now`] as an `Instant`.
#[inline]
pub(crate) fn instant_now() -> Instant {
    if is_ours() { instant(NOW.load(Ordering::Relaxed)) } else { Instant::now() }
}

/// Returns a time of a run as an `Instant`. Where std's clock is the run's, that clock would return
/// exactly this `Instant`.
fn instant(now: i64) -> Instant {
    static PAIR: OnceLock<(Instant, i64)> = OnceLock::new();
    at(now, PAIR.get_or_init(|| pair(stds_clock)))
}

/// Returns the instant at which the clock of the pair shows `ns`.
fn at(ns: i64, &(instant, nanos): &(Instant, i64)) -> Instant {
    let distance = Duration::from_nanos(ns.abs_diff(nanos));
    if ns < nanos { instant - distance } else { instant + distance }
}

/// Returns the clock that `Instant::now` reads, in nanoseconds, by the same function.
#[cfg(feature = "std")]
fn stds_clock() -> i64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for a time. Linux always has this clock.
    unsafe { libc::clock_gettime(CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[cfg(not(feature = "std"))]
use nanotime as stds_clock;

/// Returns the instant at which [`now`] was `ns`, a time that has passed. The result is never too
/// early, and not in the future.
pub(in crate::runtime) fn instant_of(ns: i64) -> Instant {
    if is_ours() {
        return instant(ns);
    }
    static PAIR: OnceLock<(Instant, i64)> = OnceLock::new();
    at(ns, PAIR.get_or_init(|| pair(nanotime))).min(Instant::now())
}

/// Returns one moment by std's clock and by `clock`, two clocks that count alike but can't be
/// converted. The instant is the later of the two, by as little as possible.
fn pair(clock: fn() -> i64) -> (Instant, i64) {
    let look = |_| {
        let (before, nanos, instant) = (Instant::now(), clock(), Instant::now());
        (instant - before, (instant, nanos))
    };
    // The thread may lose its processor between two looks at the clock, but not each time.
    let best = (0..16).map(look).min();
    best.map_or_else(|| throw("no look at the clock"), |(_, pair)| pair)
}

/// Returns the P on which a timer is to be started, if that isn't the caller's.
#[inline]
pub(in crate::runtime) fn timers_p() -> Option<&'static P> {
    if is_ours() { Some(heap()) } else { None }
}

/// Begins a run: sets the time to the real time, and returns it.
pub(in crate::runtime) fn start() -> i64 {
    heap();
    let now = nanotime();
    NOW.store(now, Ordering::Relaxed);
    #[cfg(feature = "std")]
    BEGUN.store(now, Ordering::Relaxed);
    now
}

/// The time when the run began.
#[cfg(feature = "std")]
static BEGUN: AtomicI64 = AtomicI64::new(0);

/// The time of `CLOCK_REALTIME` when a run begins, in nanoseconds: 2000-01-01, as in Go's
/// `testing/synctest`. A program may make decisions by this clock, and they must be the same in
/// each run.
#[cfg(feature = "std")]
const REALTIME: i64 = 946_684_800_000_000_000;

/// Returns the time of one of the kernel's clocks in the caller's run, in nanoseconds. Returns none
/// if the caller is in no run, or if the clock is neither the monotonic nor the real-time one.
#[cfg(feature = "std")]
pub(in crate::runtime) fn time_of_run(clock: clockid_t) -> Option<i64> {
    let now = is_ours().then(|| NOW.load(Ordering::Relaxed))?;
    match clock {
        CLOCK_MONOTONIC | CLOCK_MONOTONIC_COARSE => Some(now),
        CLOCK_REALTIME | CLOCK_REALTIME_COARSE => {
            Some((now - BEGUN.load(Ordering::Relaxed)).saturating_add(REALTIME))
        }
        _ => None,
    }
}

/// Jumps to the next timer, and puts all timers that are due then into `due`. Returns false if
/// there is no timer that could wake a goroutine.
pub(super) fn advance(due: &mut Vec<Taken>) -> bool {
    let heap = heap();
    while due.is_empty() {
        let next = nobarrier_wake_time(heap);
        // MAX_WHEN never comes: it stands for no time limit, and a periodic timer set to it would
        // be due again and again.
        if next == 0 || next == MAX_WHEN {
            return false;
        }
        lock(&heap.timers_lock);
        if !heap.timers.entries().iter().any(|entry| may_wake(entry.get().timer)) {
            unlock(&heap.timers_lock);
            return false;
        }
        let now = NOW.load(Ordering::Relaxed).max(next);
        NOW.store(now, Ordering::Relaxed);
        adjusttimers(heap, now);
        while let Some(t) = take_due(heap, now) {
            due.push(t);
        }
        unlock(&heap.timers_lock);
    }
    true
}

/// Whether the timer, whose heap is locked, may wake a goroutine. A timer that feeds a channel at
/// which nobody waits doesn't. (In Go it would be in no heap.) If such a ticker counted, the clock
/// would go on forever, and a deadlock would stay hidden.
fn may_wake(t: &Timer) -> bool {
    let when = match t.status.load(Ordering::Acquire) {
        TIMER_DELETED | TIMER_DROPPED => return false,
        TIMER_MODIFIED_EARLIER | TIMER_MODIFIED_LATER => t.nextwhen.get(),
        _ => t.when.get(),
    };
    // SAFETY: the waiter of a timer that feeds is a channel, and its memory stays one.
    let c = |t: &Timer| unsafe { &*t.ext.waiter.get().cast::<Hchan>() };
    let waits = |t: &Timer| !c(t).recvq.first.is_null() || c(t).is_observed();
    when != MAX_WHEN && (!t.ext.feeds.get() || waits(t))
}

/// Takes out the timers of goroutines that will never run again.
pub(in crate::runtime) fn clear() {
    let heap = heap();
    lock(&heap.timers_lock);
    drop_timers(heap);
    unlock(&heap.timers_lock);
}

/// Returns the run's time.
pub(super) fn reading() -> i64 {
    NOW.load(Ordering::Relaxed)
}
