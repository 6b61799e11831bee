//! The mutex's protocol: Go's `lock2` and `unlock2` without the bookkeeping.
//!
//! Go's mutex is one word that is unlocked, locked, or locked while somebody sleeps, perhaps. An
//! unlock swaps in *unlocked*: a plain store could overwrite a *sleeping* that was just written,
//! and the sleeper would be forgotten. But a swap waits until everything that the critical section
//! wrote has left the store buffer, and in a short section that is most of the cost. On the machine
//! this was measured on, a locked section with two stores takes 13.5 ns with a swap at its end, and
//! 7.2 ns with a store. The scheduler and the channels are made of such sections. So here the mutex
//! is two words. Only the owner writes the first word, and `unlock` is a store and a load:
//!
//! ```text
//!     unlock                             a thread that must sleep
//!       locked = 0            (1)          sleeping = 1           (3)
//!       sleeping == 0? done   (2)          barrier in all threads of the process
//!       sleeping = 0                       locked == 0? take it   (4)
//!       futex_wake(sleeping)               futex_wait(sleeping, 1)
//! ```
//!
//! One of the two must see the other: either (2) sees the 1, or (4) finds the lock free. The
//! processor may do (2) before (1), and then neither sees the other. A fence would prevent that,
//! but its cost is what two words are to save. The sleeper pays for both: `membarrier` makes every
//! running thread of the process execute a full barrier between (3) and (4). If the barrier falls
//! before (1), then (2) comes later and sees the 1. If it falls after (1), then (4) finds the lock
//! free, or taken again by a thread whose unlock comes later still. Sleeping costs a system call
//! anyway, and comes after a round of spinning, so it is rare. Where the kernel has no
//! `membarrier`, unlock has the fence.
//!
//! The futex is the word that an unlock clears before it wakes: a sleeper that isn't in the kernel
//! yet finds it cleared, and tries again. An unlock wakes one sleeper, which puts the 1 back when
//! it has the lock, for others that may sleep.
//!
//! Between (1) and (2) the lock is free. Another thread may take it, be the last to need it, and
//! free its memory. Once a goroutine's park has released a lock (`gopark`'s unlockf), that
//! goroutine may do so at once. So such a lock is never in memory that is given back: the
//! semaphores' and conditions' locks are in tables, and channels are kept (`chan/make.rs`).

use crossbeam_utils::Backoff;

use crate::runtime::base::os::{
    barrier_in_all_threads, barriers_work, futexsleep, futexwakeup, light_barrier, osyield,
};
use crate::runtime::data::atomic::{AtomicU32, Ordering, fence};
use crate::runtime::data::ext::MutexKey;

const UNLOCKED: u32 = 0;
const LOCKED: u32 = 1;
const NOBODY: u32 = 0;
const SOMEBODY: u32 = 1;

/// Rounds of spinning before sleeping. Each is twice as long as the one before, 127 pauses in all;
/// Go's are four of 30.
const ACTIVE_SPIN: u32 = if cfg!(loom) { 0 } else { 7 };

/// The futex word. Go's `key32`.
#[inline(always)]
fn key32(key: &MutexKey) -> &AtomicU32 {
    &key.sleeping
}

/// Whether a thread may be sleeping until the lock is released. Go's `mutexContended`.
#[inline(always)]
fn mutex_contended(key: &MutexKey) -> bool {
    key32(key).load(Ordering::Relaxed) != NOBODY
}

/// Tries for a while to take a lock. Returns whether it did.
pub(super) fn spin(take_if_free: impl Fn() -> bool) -> bool {
    let backoff = Backoff::new();
    for _ in 0..ACTIVE_SPIN {
        if take_if_free() {
            return true;
        }
        backoff.spin();
    }
    osyield();
    take_if_free()
}

impl MutexKey {
    /// Takes the lock if it is free.
    #[inline(always)]
    pub(in crate::runtime) fn try_lock(&self) -> bool {
        // Acquire pairs with the release in unlock.
        self.locked.compare_exchange(UNLOCKED, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes the lock.
    #[inline(always)]
    pub(in crate::runtime) fn lock(&self) {
        if !self.try_lock() {
            self.lock_slow();
        }
    }

    #[cold]
    #[inline(never)]
    fn lock_slow(&self) {
        let mut slept = false;
        while !spin(|| self.locked.load(Ordering::Relaxed) == UNLOCKED && self.try_lock()) {
            // This is (3) above. With the barrier it comes before (4), and pairs with unlock.
            key32(self).store(SOMEBODY, Ordering::SeqCst);
            barrier_in_all_threads();
            if self.try_lock() {
                return; // the 1 stays: one wakeup too many, at worst
            }
            futexsleep(key32(self), SOMEBODY, -1);
            slept = true;
        }
        if slept {
            // The unlock that woke us has cleared it.
            key32(self).store(SOMEBODY, Ordering::Relaxed);
        }
    }

    /// Releases the lock. Its memory must stay until this returns.
    ///
    /// The ranks check in debug builds that the lock was held. This doesn't: reading a word shortly
    /// after the CAS that changed it costs as much as another CAS.
    #[inline(always)]
    pub(in crate::runtime) fn unlock(&self) {
        self.locked.store(UNLOCKED, Ordering::Release);
        if barriers_work() {
            light_barrier();
        } else {
            // Between (1) and (2): pairs with the sleeper's fence, in `barrier_in_all_threads`.
            fence(Ordering::SeqCst);
        }
        if mutex_contended(self) {
            self.wake();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake(&self) {
        // Before the wake: a sleeper that isn't in the kernel yet finds the word cleared.
        key32(self).store(NOBODY, Ordering::SeqCst);
        futexwakeup(key32(self), 1);
    }
}
