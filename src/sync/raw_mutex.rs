//! The mutex's algorithm: Go's `sync/mutex.go`.
//!
//! In *normal* mode waiters queue in order, but one that is woken competes with goroutines that just
//! arrive. Those are running already, and so win as a rule: fast, as a goroutine can take the mutex
//! several times in a row. A waiter that has failed for more than a millisecond puts the mutex into
//! *starving* mode: unlock then hands it to the first waiter, and goroutines that arrive don't try, but
//! queue at the end. When the last waiter gets it, or one that has waited for less than a
//! millisecond, the mode is normal again.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use crate::runtime::runtime2::{WaitReason, sched};
use crate::runtime::{
    fatal, getm, gomaxprocs, must_wait, nanotime, procyield, runqempty, semacquire1, semrelease1, throw,
};

/// A mutex without a value.
pub(super) struct RawMutex {
    /// [`LOCKED`], [`WOKEN`], [`STARVING`], and the number of waiters above them.
    state: AtomicI32,
    /// The semaphore that waiters sleep on.
    sema: AtomicU32,
}

/// Somebody holds the mutex.
const LOCKED: i32 = 1;
/// A waiter is awake and tries to lock: an unlock needn't wake another.
const WOKEN: i32 = 2;
/// The mode: an unlock hands the mutex to the first waiter.
const STARVING: i32 = 4;
/// One waiter: the unit of the count.
const WAITER: i32 = 8;

/// How long a waiter waits before it sets [`STARVING`], in nanoseconds.
const STARVATION_THRESHOLD: i64 = 1_000_000;

/// How many rounds a waiter spins before it sleeps, and how many pause instructions a round has.
const ACTIVE_SPIN: u32 = 4;
const ACTIVE_SPIN_CNT: u32 = 30;

/// Whether it makes sense to spin: another goroutine is running, which may unlock, and this P has
/// no other to run. Go's `canSpin`.
fn can_spin(iter: u32) -> bool {
    let busy =
        gomaxprocs() - sched().npidle.load(Ordering::Relaxed) - sched().nmspinning.load(Ordering::Relaxed);
    iter < ACTIVE_SPIN && busy > 1 && getm().p.peek().is_some_and(|pp| runqempty(pp.steal()))
}

impl RawMutex {
    pub(crate) const fn new() -> Self {
        RawMutex { state: AtomicI32::new(0), sema: AtomicU32::new(0) }
    }

    #[inline(always)]
    #[track_caller]
    pub(crate) fn lock(&self) {
        // Acquire, in this file: pairs with the release in unlock.
        if self.state.compare_exchange(0, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.lock_slow();
        }
    }

    pub(crate) fn try_lock(&self) -> bool {
        let old = self.state.load(Ordering::Relaxed);
        old & (LOCKED | STARVING) == 0
            && self.state.compare_exchange(old, old | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn lock_slow(&self) {
        let _guest = must_wait("lock");
        let mut waiting_since = None;
        let mut starving = false;
        let mut awoke = false;
        let mut iter = 0;
        let mut old = self.state.load(Ordering::Relaxed);
        loop {
            // Not in starving mode: the mutex is handed to the first waiter.
            if old & (LOCKED | STARVING) == LOCKED && can_spin(iter) {
                // So that unlock wakes nobody else.
                if !awoke
                    && old & WOKEN == 0
                    && old >= WAITER
                    && self
                        .state
                        .compare_exchange(old, old | WOKEN, Ordering::Relaxed, Ordering::Relaxed)
                        .is_ok()
                {
                    awoke = true;
                }
                procyield(ACTIVE_SPIN_CNT);
                iter += 1;
                old = self.state.load(Ordering::Relaxed);
                continue;
            }
            let mut new = old;
            if old & STARVING == 0 {
                new |= LOCKED;
            }
            if old & (LOCKED | STARVING) != 0 {
                new += WAITER;
            }
            // Only while it is locked: unlock expects a starving mutex to have waiters.
            if starving && old & LOCKED != 0 {
                new |= STARVING;
            }
            if awoke {
                if new & WOKEN == 0 {
                    throw("sync: inconsistent mutex state");
                }
                new &= !WOKEN;
            }
            if let Err(now) = self.state.compare_exchange(old, new, Ordering::Acquire, Ordering::Relaxed) {
                old = now;
                continue;
            }
            if old & (LOCKED | STARVING) == 0 {
                return;
            }
            // A waiter that was woken in vain goes back to the front.
            let lifo = waiting_since.is_some();
            let since = *waiting_since.get_or_insert_with(nanotime);
            semacquire1(&self.sema, lifo, WaitReason::SyncMutexLock);
            starving |= nanotime() - since > STARVATION_THRESHOLD;
            old = self.state.load(Ordering::Relaxed);
            if old & STARVING != 0 {
                // unlock has handed the mutex over. LOCKED isn't set yet, and this goroutine still counts as
                // a waiter.
                if old & (LOCKED | WOKEN) != 0 || old < WAITER {
                    throw("sync: inconsistent mutex state");
                }
                let mut delta = LOCKED - WAITER;
                if !starving || old < 2 * WAITER {
                    delta -= STARVING;
                }
                self.state.fetch_add(delta, Ordering::Acquire);
                return;
            }
            awoke = true;
            iter = 0;
        }
    }

    #[inline(always)]
    pub(crate) fn unlock(&self) {
        let new = self.state.fetch_sub(LOCKED, Ordering::Release) - LOCKED;
        if new != 0 {
            self.unlock_slow(new);
        }
    }

    #[cold]
    #[inline(never)]
    fn unlock_slow(&self, new: i32) {
        if (new + LOCKED) & LOCKED == 0 {
            fatal("sync: unlock of unlocked mutex");
        }
        if new & STARVING != 0 {
            // Hands it to the first waiter, which sets LOCKED; until then STARVING keeps others out.
            return semrelease1(&self.sema, true);
        }
        let mut old = new;
        // Until nobody waits, somebody is awake, or somebody has locked already: then nobody is to be woken.
        while old >= WAITER && old & (LOCKED | WOKEN | STARVING) == 0 {
            let woken = (old - WAITER) | WOKEN;
            match self.state.compare_exchange(old, woken, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return semrelease1(&self.sema, false),
                Err(now) => old = now,
            }
        }
    }
}
