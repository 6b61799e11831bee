//! The mutex's algorithm: Go's `sync/mutex.go`.
//!
//! In *normal* mode waiters queue in order, but a waiter that is woken competes with goroutines
//! that just arrive. Those are running already, and so win as a rule. That is fast, because a
//! goroutine can take the mutex several times in a row. A waiter that has failed for more than a
//! millisecond puts the mutex into *starving* mode: unlock then hands the mutex to the first
//! waiter, and goroutines that arrive don't try to lock, but queue at the end. The mode is normal
//! again when the last waiter gets the mutex, or a waiter that has waited for less than a
//! millisecond.

use crate::runtime::atomic::{AtomicI32, AtomicU32, Ordering};
use crate::runtime::runtime2::WaitReason;
use crate::runtime::{
    Limit, can_spin, cansemacquire, do_spin, fatal, gosched, must_wait, now, point, semacquire_limited,
    semrelease1, throw, unwind_to_run,
};

/// A mutex without a value.
pub(super) struct RawMutex {
    /// [`LOCKED`], [`WOKEN`], [`STARVING`], and the number of waiters above them.
    state: AtomicI32,
    /// The semaphore that waiters sleep on.
    sema: AtomicU32,
}

/// The mutex is held.
const LOCKED: i32 = 1;
/// A waiter is awake and tries to lock: an unlock needn't wake another.
const WOKEN: i32 = 2;
/// The mode: an unlock hands the mutex to the first waiter.
const STARVING: i32 = 4;
/// One waiter: the unit of the count.
const WAITER: i32 = 8;

/// How long a waiter waits before it sets [`STARVING`], in nanoseconds.
const STARVATION_THRESHOLD: i64 = 1_000_000;

impl RawMutex {
    /// An unlocked one.
    pub(crate) const fn new() -> Self {
        RawMutex { state: AtomicI32::new(0), sema: AtomicU32::new(0) }
    }

    #[inline(always)]
    #[track_caller]
    pub(crate) fn lock(&self) {
        point("lock");
        // Acquire, in this file: pairs with the release in unlock.
        if self.state.compare_exchange(0, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.wait_and_lock();
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn wait_and_lock(&self) {
        let _guest = must_wait("lock");
        if !self.lock_slow(None) {
            unwind_to_run();
        }
    }

    /// [`lock`](Self::lock) with a limit, on a goroutine. Returns whether it has locked.
    #[inline]
    pub(crate) fn lock_limited(&self, limit: Option<Limit<'_>>) -> bool {
        point("lock");
        self.state.compare_exchange(0, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
            || self.lock_slow(limit)
    }

    pub(crate) fn try_lock(&self) -> bool {
        point("try_lock");
        let old = self.state.load(Ordering::Relaxed);
        old & (LOCKED | STARVING) == 0
            && self.state.compare_exchange(old, old | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    #[inline(never)]
    fn lock_slow(&self, limit: Option<Limit<'_>>) -> bool {
        let mut waiting_since = None;
        let mut starving = false;
        let mut awoke = false;
        let mut iter = 0;
        let mut old = self.state.load(Ordering::Relaxed);
        loop {
            // No spinning in starving mode, where the mutex is handed to the first waiter.
            if old & (LOCKED | STARVING) == LOCKED && can_spin(iter) {
                // Set so that unlock wakes no other waiter.
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
                do_spin();
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
            // Set only while the mutex is locked: unlock expects a starving mutex to have waiters.
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
                return true;
            }
            // A waiter that was woken in vain goes back to the front.
            let lifo = waiting_since.is_some();
            let since = *waiting_since.get_or_insert_with(now);
            if !semacquire_limited(&self.sema, lifo, WaitReason::SyncMutexLock, limit) {
                return self.leave();
            }
            starving |= now() - since > STARVATION_THRESHOLD;
            old = self.state.load(Ordering::Relaxed);
            if old & STARVING != 0 {
                self.take_over(old, starving);
                return true;
            }
            awoke = true;
            iter = 0;
        }
    }

    /// Locks for a waiter that unlock has handed the mutex to. LOCKED isn't set yet, and the waiter
    /// is still counted.
    fn take_over(&self, old: i32, starving: bool) {
        if old & (LOCKED | WOKEN) != 0 || old < WAITER {
            throw("sync: inconsistent mutex state");
        }
        let mut delta = LOCKED - WAITER;
        if !starving || old < 2 * WAITER {
            delta -= STARVING;
        }
        self.state.fetch_add(delta, Ordering::Acquire);
    }

    /// Called for a waiter whose limit has come: it gives up. Returns whether it has the mutex
    /// nevertheless. On a goroutine.
    ///
    /// An unlock doesn't choose a waiter. It takes one waiter off the count, or begins to hand
    /// over, and then releases the semaphore for the waiter that sleeps first. In between, all
    /// sleepers may have left. So a waiter that isn't counted any more was chosen, and while the
    /// mutex is handed over any waiter may be the chosen one. Such a waiter takes the released
    /// unit, and goes on as if woken.
    #[cold]
    fn leave(&self) -> bool {
        loop {
            let old = self.state.load(Ordering::Relaxed);
            let is_handed_over = old & (LOCKED | STARVING) == STARVING;
            if old >= WAITER && !is_handed_over {
                let last = old < 2 * WAITER;
                let new = (old - WAITER) & if last { !STARVING } else { !0 };
                if self.state.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                    return false;
                }
            } else if cansemacquire(&self.sema) {
                return self.lock_once();
            } else {
                // Yields until the semaphore is released, or until the waiter that has taken its
                // unit has run.
                // SAFETY: on a goroutine, and a point that can park.
                unsafe { gosched() };
            }
        }
    }

    /// Called for a waiter that has taken the unit that unlock has released. Tries once to lock.
    fn lock_once(&self) -> bool {
        let mut old = self.state.load(Ordering::Relaxed);
        if old & STARVING != 0 {
            self.take_over(old, true);
            return true;
        }
        loop {
            let free = old & LOCKED == 0;
            match self.state.compare_exchange(
                old,
                (old & !WOKEN) | LOCKED,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return free,
                Err(now) => old = now,
            }
        }
    }

    #[inline(always)]
    pub(crate) fn unlock(&self) {
        point("unlock");
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
            // Hands the mutex to the first waiter, which sets LOCKED; until then STARVING keeps
            // others out.
            return semrelease1(&self.sema, true);
        }
        let mut old = new;
        // Wakes no waiter if none waits, if one is awake, or if the mutex is locked again.
        while old >= WAITER && old & (LOCKED | WOKEN | STARVING) == 0 {
            let woken = (old - WAITER) | WOKEN;
            match self.state.compare_exchange(old, woken, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return semrelease1(&self.sema, false),
                Err(now) => old = now,
            }
        }
    }
}
