//! Waits for the next wake at an address, whatever is there. C's conditions and read-write locks
//! wait so.
//!
//! A waiter queues itself, does something, for example releases a mutex, and then sleeps. A wake
//! that comes in between ends the wait, too. Goroutines and threads are on the same list, so wakes
//! are in the order of the waits, and a wake of one wakes one.
//!
//! Nobody uses the address: only the waiters and the wakers have to agree on it. So the object
//! there may be gone as soon as its last waiter was woken.
//!
//! `loom` checks this file (`tests/loom`).

use crate::runtime::base::os::{futexsleep, nanotime};
use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::runtime2::G;
use crate::runtime::m::signaled::{handle_signals, until_signaled};
use crate::runtime::p::timer::has_timers;
use crate::runtime::stdpark::futex_table::{Ends, State, Waited, Waiter, bucket_of};
use crate::runtime::stdpark::gate::{is_thread, may_park};

/// Returns the goroutine that is to sleep until the time, if there is one, or none if its thread is
/// to sleep.
pub(in crate::runtime) fn sleeper(until: Option<i64>) -> Option<&'static G> {
    // Without memory for a timer, the wait blocks its thread.
    may_park().filter(|_| until.is_none() || has_timers())
}

/// A goroutine's or a thread's wait, on its stack.
pub(in crate::runtime) struct Queued(Waiter);

impl Queued {
    /// Makes a wait for wakes at `addr` with one of these bits: of `gp`, the running goroutine,
    /// which may park here, or of this thread.
    pub(in crate::runtime) fn new(gp: Option<&'static G>, addr: usize, bits: u32) -> Self {
        Queued(Waiter::new(gp, addr, bits))
    }

    /// Queues the waiter. A wake that comes from now on ends its wait.
    ///
    /// # Safety
    /// The caller calls `sleep` or `leave` next, and until then keeps this where it is.
    pub(in crate::runtime) unsafe fn queue(&self) {
        let bucket = bucket_of(self.0.addr.get());
        // SeqCst: the caller looks at its condition afterwards. See `Bucket::nwait`.
        bucket.nwait.fetch_add(1, Ordering::SeqCst);
        bucket.lock();
        bucket.push(&self.0);
        self.0.state.set(if self.0.gp.is_some() { State::Queued } else { State::Asleep });
        bucket.unlock();
    }

    /// Sleeps until a wake, until the time, or until a signal for the caller, which it lets be
    /// handled. If this is a point where a thread may be canceled, an abort ends the wait, too.
    /// Returns whether a wake has ended it.
    pub(in crate::runtime) fn sleep(&self, until: Option<i64>, is_point: bool) -> bool {
        let Some(gp) = self.0.gp else { return self.sleep_as_thread(until) };
        let ends = Ends { time: until, by_abort: is_point && is_thread(gp) };
        let sleep = || {
            let bucket = self.0.lock_bucket();
            if self.0.state.get() == State::Queued {
                return self.0.park(bucket);
            }
            bucket.unlock();
            self.0.result()
        };
        if ends.have_come() {
            return !self.leave();
        }
        // SAFETY: `sleep` parks this waiter.
        let waited = until_signaled(gp, || unsafe { self.0.limited(gp, ends, sleep) });
        handle_signals(gp);
        matches!(waited, Waited::Woken)
    }

    /// [`sleep`](Self::sleep) in the kernel.
    fn sleep_as_thread(&self, mut until: Option<i64>) -> bool {
        // Acquire pairs with `Taken::wake`, which doesn't use the waiter afterwards.
        while self.0.woken.load(Ordering::Acquire) == 0 {
            let left = until.map_or(-1, |until| until.saturating_sub(nanotime()).max(0));
            if left != 0 {
                futexsleep(&self.0.woken, 0, left);
            } else if self.take_off() {
                return false;
            } else {
                // The wake is on its way.
                until = None;
            }
        }
        true
    }

    /// Ends the wait without a sleep. Returns whether no wake has ended it before.
    pub(in crate::runtime) fn leave(&self) -> bool {
        let is_first = self.take_off();
        if !is_first && self.0.gp.is_none() {
            // The waker still uses the waiter.
            self.sleep_as_thread(None);
        }
        is_first
    }

    /// Takes the waiter off its list. Returns whether it was there.
    fn take_off(&self) -> bool {
        let bucket = self.0.lock_bucket();
        let is_there = matches!(self.0.state.get(), State::Queued | State::Asleep);
        if is_there {
            bucket.remove(&self.0, State::TimedOut);
        }
        bucket.unlock();
        is_there
    }
}

/// Whether a wake at the address might find a waiter that has queued itself before.
#[inline(always)]
pub(in crate::runtime) fn has_queued(addr: usize) -> bool {
    bucket_of(addr).nwait.load(Ordering::Relaxed) != 0
}
