//! Barriers, as glibc's.
//!
//! Each thread that enters gets a position. A round is complete when `count` threads have entered
//! since the last round. Then the last of them sets `round` to its position, and wakes the others,
//! which wait while `round` is less than their positions. Each counts itself as gone.
//!
//! Before the positions overflow, at the end of a round, all begins anew: the last thread to go
//! sets the words to 0. Threads that have entered since wait for that, and enter again. `destroy`
//! uses the same way to wait for threads that haven't gone yet: it raises `gone`, so that the last
//! of them sets the words to 0.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use libc::pthread_barrier_t;

use crate::runtime::stdpark::futex::{wait_at_word, wake_at_word};

/// glibc's barrier.
#[repr(C)]
struct Barrier {
    entered: AtomicU32,
    /// The last position of the last complete round.
    round: AtomicU32,
    count: u32,
    /// Not 0 if processes share it.
    shared: c_int,
    gone: AtomicU32,
}

impl Barrier {
    /// # Safety
    /// `barrier` is a barrier that stays until the caller's last use of the result.
    #[inline(always)]
    unsafe fn of<'a>(barrier: *mut pthread_barrier_t) -> &'a Barrier {
        // SAFETY: as the caller says.
        unsafe { &*barrier.cast() }
    }

    /// The last position before all begins anew.
    fn last_position(&self) -> u32 {
        let most = u32::MAX / 2;
        most - most % self.count
    }

    /// Enters, and returns the position.
    fn enter(&self) -> u32 {
        loop {
            // Acquire pairs with a beginning anew. Acquire and release pair with all that enter
            // this round: what they did before, each sees when it goes on.
            let position = self.entered.fetch_add(1, Ordering::AcqRel) + 1;
            let last = self.last_position();
            if position <= last {
                return position;
            }
            let mut entered = position;
            while entered > last {
                wait_at_word(&self.entered, entered, None, false);
                entered = self.entered.load(Ordering::Relaxed);
            }
        }
    }

    /// Waits until the round with this position is complete.
    fn wait_for_round(&self, position: u32) {
        let mut round = self.round.load(Ordering::Relaxed);
        while round + self.count <= position {
            let complete = position - position % self.count;
            // Release pairs with the fence below, on other threads.
            match self.round.compare_exchange(round, complete, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => {
                    round = complete;
                    wake_at_word(ptr::from_ref(&self.round).expose_provenance(), u32::MAX);
                }
                Err(now) => round = now,
            }
        }
        while round < position {
            wait_at_word(&self.round, round, None, false);
            round = self.round.load(Ordering::Relaxed);
        }
        fence(Ordering::Acquire);
    }

    /// Notes that this thread goes. The barrier may be gone afterwards.
    fn leave(&self) {
        let last = self.last_position();
        let addr = ptr::from_ref(&self.entered).expose_provenance();
        // Release pairs with the fence, on the last thread to go.
        if self.gone.fetch_add(1, Ordering::Release) + 1 == last {
            fence(Ordering::Acquire);
            self.round.store(0, Ordering::Relaxed);
            self.gone.store(0, Ordering::Relaxed);
            // Release pairs with threads that enter, and with `destroy`.
            self.entered.store(0, Ordering::Release);
            wake_at_word(addr, u32::MAX);
        }
    }
}

/// The addresses of the words at which threads wait.
pub(in crate::runtime::threads) fn words(barrier: *mut pthread_barrier_t) -> [usize; 2] {
    [0, 4].map(|offset| barrier.expose_provenance() + offset)
}

/// Whether this barrier's waits are ours.
///
/// # Safety
/// `barrier` is a barrier.
#[inline(always)]
pub(in crate::runtime::threads) unsafe fn is_ours(barrier: *mut pthread_barrier_t) -> bool {
    // SAFETY: as the caller says.
    let this = unsafe { Barrier::of(barrier) };
    this.shared == 0 && this.count != 0
}

/// `pthread_barrier_wait`.
///
/// # Safety
/// `barrier` is a barrier of ours.
#[inline(never)]
pub(in crate::runtime::threads) unsafe fn wait(barrier: *mut pthread_barrier_t) -> c_int {
    // SAFETY: as the caller says. The barrier stays until this thread has left.
    let this = unsafe { Barrier::of(barrier) };
    let position = this.enter();
    let is_last = position.is_multiple_of(this.count);
    this.wait_for_round(position);
    this.leave();
    if is_last { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }
}

/// `pthread_barrier_destroy`: waits until all threads have gone.
///
/// # Safety
/// As [`wait`].
#[inline(never)]
pub(in crate::runtime::threads) unsafe fn destroy(barrier: *mut pthread_barrier_t) -> c_int {
    // SAFETY: as the caller says.
    let this = unsafe { Barrier::of(barrier) };
    let mut entered = this.entered.load(Ordering::Relaxed);
    let rest = this.last_position() - entered;
    if this.gone.fetch_add(rest, Ordering::Relaxed) < entered {
        while entered != 0 {
            wait_at_word(&this.entered, entered, None, false);
            entered = this.entered.load(Ordering::Relaxed);
        }
    }
    // Pairs with the last thread to go: it doesn't use the barrier any more.
    fence(Ordering::Acquire);
    0
}
