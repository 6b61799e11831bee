//! A cancellation: what ends waits as a time limit does, but when somebody says so, and all that wait with it at once.

use std::cell::Cell;
use std::ptr;

use crate::runtime::data::runtime2::Mutex;
use crate::runtime::lock::mutex::lock_ranked;
use crate::runtime::lock::rank::LockRank;
use crate::runtime::lock::unlock;

/// Comes once, or never. It has to stay until the waits with it are over, and [`cancel`](Self::cancel) has returned.
pub(crate) struct Cancellation {
    /// Of the rank of a timer's `send_lock`, which is held for the same: a wait that is over waits until nobody is
    /// about to end it.
    lock: Mutex,
    came: Cell<bool>,
    /// Who waits.
    first: Cell<*const Waiter>,
}

/// A wait in progress. It is on that goroutine's stack, and the list is linked through it.
struct Waiter {
    /// Gives up the wait, calls `unlock`, and wakes who waits if it must.
    end: unsafe fn(give_up: *const (), unlock: &dyn Fn()),
    give_up: *const (),
    prev: Cell<*const Waiter>,
    next: Cell<*const Waiter>,
}

// SAFETY: waits belong to no thread, and may be ended from any.
unsafe impl Send for Cancellation {}
// SAFETY: the flag, the list and its links are touched with the lock held.
unsafe impl Sync for Cancellation {}

impl Cancellation {
    pub(crate) const fn new() -> Self {
        Cancellation { lock: Mutex::new(), came: Cell::new(false), first: Cell::new(ptr::null()) }
    }

    /// Ends all waits, now and from now on. Anywhere, and any number of times.
    pub(crate) fn cancel(&self) {
        loop {
            lock_ranked(&self.lock, LockRank::TIMER_SEND);
            self.came.set(true);
            // SAFETY: who is on the list stays until it is off it, which takes the lock.
            let Some(first) = (unsafe { self.first.get().as_ref() }) else {
                unlock(&self.lock);
                return;
            };
            self.remove(first);
            // SAFETY: it was on the list: its goroutine is in `ended_by`, where it stays at least until the unlock, and
            // then until it is woken. give_up is what that has passed.
            unsafe { (first.end)(first.give_up, &|| unlock(&self.lock)) };
        }
    }

    /// Calls `sleep` as [`with_limit`](super::limit::with_limit) does.
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn ended_by<R, G, W>(&self, give_up: &G, sleep: impl FnOnce() -> R) -> R
    where
        G: Fn() -> Option<W>,
        W: FnOnce(),
    {
        let waiter = Waiter {
            end: end::<G, W>,
            give_up: ptr::from_ref(give_up).cast(),
            prev: Cell::new(ptr::null()),
            next: Cell::new(ptr::null()),
        };
        lock_ranked(&self.lock, LockRank::TIMER_SEND);
        let unlock = || unlock(&self.lock);
        if self.came.get() {
            // SAFETY: give_up is borrowed, and the lock is held, which that releases.
            unsafe { end::<G, W>(waiter.give_up, &unlock) };
            return sleep();
        }
        self.push_front(&waiter);
        unlock();
        let result = sleep();
        lock_ranked(&self.lock, LockRank::TIMER_SEND);
        if ptr::eq(self.first.get(), &waiter) || !waiter.prev.get().is_null() {
            self.remove(&waiter);
        }
        unlock();
        result
    }

    /// Adds a waiter. The lock is held.
    fn push_front(&self, waiter: &Waiter) {
        let first = self.first.replace(waiter);
        waiter.next.set(first);
        // SAFETY: who is on the list stays until it is off it, which takes the lock.
        if let Some(first) = unsafe { first.as_ref() } {
            first.prev.set(waiter);
        }
    }

    /// Takes a waiter off the list that is on it. The lock is held.
    fn remove(&self, waiter: &Waiter) {
        let (prev, next) = (waiter.prev.replace(ptr::null()), waiter.next.replace(ptr::null()));
        // SAFETY: its neighbours are on the list, too, and stay until they are off it, which takes the lock.
        let neighbours = unsafe { (prev.as_ref(), next.as_ref()) };
        neighbours.0.map_or(&self.first, |prev| &prev.next).set(next);
        if let Some(next) = neighbours.1 {
            next.prev.set(prev);
        }
    }
}

/// [`Waiter::end`].
///
/// # Safety
/// `give_up` is a `G`, which stays until `unlock` has returned.
unsafe fn end<G: Fn() -> Option<W>, W: FnOnce()>(give_up: *const (), unlock: &dyn Fn()) {
    // SAFETY: as the caller says.
    let wake = unsafe { (*give_up.cast::<G>())() };
    // Who is woken takes the lock, to leave.
    unlock();
    if let Some(wake) = wake {
        wake();
    }
}
