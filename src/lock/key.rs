//! The mutex's protocol: Go's `lock2` and `unlock2` without the bookkeeping.
//!
//! # Go's word
//!
//! `state` is unlocked, locked, or locked with somebody sleeping, perhaps. To lock is to
//! swap in *locked*; who finds it taken spins, then swaps in *sleeping* and sleeps in the
//! kernel until the word changes. To unlock is to swap in *unlocked*, and to wake somebody
//! if the word was *sleeping*. Who has slept locks by putting *sleeping* back: there may be
//! others.
//!
//! # The second word
//!
//! The swap in `unlock` waits until everything the critical section wrote has left the
//! store buffer, and in a short section that is most of the cost: on the machine this was
//! measured on, a locked section with two stores takes 13.5 ns, and 7.2 ns if it ends in a
//! plain store. The scheduler and the channels are made of such sections. So `unlock` is
//! two plain instructions, and `sleepers` counts who is about to sleep:
//!
//! ```text
//!   unlock                          a thread that must sleep
//!     state = unlocked  (1)           sleepers += 1      (3)
//!     read sleepers     (2)           barrier in all threads of the process
//!     if not 0: wake one              swap in sleeping   (4)
//!                                     if it was locked: futex_wait(state, sleeping)
//! ```
//!
//! One of the two must see the other: either (2) sees the count, or (4) finds the lock
//! free. The processor may do (2) before (1), which would break it, and the fence against
//! that is what we set out to save. The sleeper pays for both: `membarrier` makes every
//! running thread of the process execute a full barrier between (3) and (4). If that falls
//! before (1), then (2) comes later and sees the count; if it falls after (1), then (4)
//! finds the lock free, or taken again by somebody whose unlock comes later still. Sleeping
//! costs a system call anyway, and comes after a round of spinning, so it is rare.
//!
//! Between (1) and (2) the lock is free, and another thread may take it, find that it is the
//! last to need it, and free its memory. Where that can happen, who unlocks calls
//! [`unlock_and_forget`](MutexKey::unlock_and_forget), which is Go's: one swap, and after it
//! only the address is used. The two may be mixed: the first relies on `sleepers`, the
//! second on `state`, and both are always kept.
//!
//! Where the kernel has no `membarrier`, every unlock is the second kind.

use crossbeam_utils::Backoff;

use crate::atomic::{AtomicU32, Ordering};
use crate::os::{barrier_in_all_threads, barriers_work, futexsleep, futexwakeup, light_barrier, osyield};
use crate::panic::throw;

/// The words of a runtime mutex; zero is unlocked.
#[repr(C, align(8))]
pub struct MutexKey {
    /// Unlocked, locked or sleeping; the futex word.
    state: AtomicU32,
    /// Threads between deciding to sleep and having woken up.
    sleepers: AtomicU32,
}

const UNLOCKED: u32 = 0;
const LOCKED: u32 = 1;
const SLEEPING: u32 = 2;

/// Rounds of spinning before sleeping. Each is twice as long as the one before, 127 pauses in
/// all; Go's are four of 30.
const ACTIVE_SPIN: u32 = if cfg!(loom) { 0 } else { 7 };

/// The futex word. Go's `key32`.
#[inline(always)]
fn key32(key: &MutexKey) -> &AtomicU32 {
    &key.state
}

impl MutexKey {
    /// Takes the lock.
    #[inline(always)]
    pub(crate) fn lock(&self) {
        // Acquire pairs with the release of an unlock.
        let v = key32(self).swap(LOCKED, Ordering::Acquire);
        if v != UNLOCKED {
            self.lock_slow(v);
        }
    }

    /// `wait` is what to put into the word when the lock is got: *sleeping*, if we have
    /// overwritten that or have slept ourselves, so that our unlock wakes the next.
    #[cold]
    #[inline(never)]
    fn lock_slow(&self, mut wait: u32) {
        loop {
            let backoff = Backoff::new();
            for _ in 0..ACTIVE_SPIN {
                if self.try_lock(wait) {
                    return;
                }
                backoff.spin();
            }
            if self.try_lock(wait) {
                return;
            }
            osyield();

            self.sleepers.fetch_add(1, Ordering::SeqCst);
            barrier_in_all_threads();
            let v = key32(self).swap(SLEEPING, Ordering::SeqCst);
            if v != UNLOCKED {
                futexsleep(key32(self), SLEEPING, -1);
            }
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
            if v == UNLOCKED {
                return;
            }
            wait = SLEEPING;
        }
    }

    fn try_lock(&self, wait: u32) -> bool {
        key32(self).load(Ordering::Relaxed) == UNLOCKED
            && key32(self).compare_exchange(UNLOCKED, wait, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Releases the lock. Its memory must stay until this returns.
    ///
    /// Whether it was held isn't checked here, but by the ranks in debug builds: to read the
    /// word shortly after the swap that locked it costs as much as another swap.
    #[inline(always)]
    pub(crate) fn unlock(&self) {
        if !barriers_work() {
            return self.unlock_and_forget();
        }
        // (1) and (2), ordered by the barrier that a sleeper makes us execute.
        key32(self).store(UNLOCKED, Ordering::Release);
        light_barrier();
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            self.wake();
        }
    }

    /// Releases the lock. Once it is free, nothing of it is used but its address.
    #[inline(always)]
    pub(crate) fn unlock_and_forget(&self) {
        match key32(self).swap(UNLOCKED, Ordering::SeqCst) {
            UNLOCKED => throw("unlock of unlocked lock"),
            SLEEPING => self.wake(),
            _ => {}
        }
    }

    #[cold]
    #[inline(never)]
    fn wake(&self) {
        futexwakeup(key32(self), 1);
    }

    /// Whether a thread may be sleeping until the lock is released. Go's `mutexContended`.
    pub(crate) fn contended(&self) -> bool {
        key32(self).load(Ordering::Relaxed) > LOCKED
    }
}
