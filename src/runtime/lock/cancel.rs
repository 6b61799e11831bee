//! A cancellation ends waits as a time limit does, but on request, and ends all waits that use it
//! at once.

use std::cell::Cell;
use std::ptr;

use crate::runtime::data::runtime2::Mutex;
use crate::runtime::lock::mutex::lock_ranked;
use crate::runtime::lock::rank::LockRank;
use crate::runtime::lock::unlock;

/// An event that comes once, or never. It must stay until the waits that use it are over, and
/// [`cancel`](Self::cancel) has returned.
pub(crate) struct Cancellation {
    /// Has the rank of a timer's `send_lock`, which serves the same purpose: a wait doesn't return
    /// while a thread is about to end it.
    lock: Mutex,
    came: Cell<bool>,
    /// The first waiter of the list.
    first: Cell<*const Waiter>,
}

/// Gives up a wait, calls `unlock`, and wakes the waiting goroutine if necessary.
pub(in crate::runtime) type EndWait = unsafe fn(give_up: *const (), unlock: &dyn Fn());

/// A wait in progress. It is on the waiting goroutine's stack, and is a link of the list.
struct Waiter {
    end: EndWait,
    give_up: *const (),
    prev: Cell<*const Waiter>,
    next: Cell<*const Waiter>,
}

// SAFETY: waits belong to no thread, and any thread may end them.
unsafe impl Send for Cancellation {}
// SAFETY: the flag, the list and its links are touched with the lock held.
unsafe impl Sync for Cancellation {}

impl Cancellation {
    pub(crate) const fn new() -> Self {
        Cancellation { lock: Mutex::new(), came: Cell::new(false), first: Cell::new(ptr::null()) }
    }

    /// Ends all waits that use this, and all later ones. Can be called anywhere, any number of
    /// times.
    pub(crate) fn cancel(&self) {
        loop {
            lock_ranked(&self.lock, LockRank::TIMER_SEND);
            self.came.set(true);
            // SAFETY: a waiter stays until it is taken off the list, with the lock held.
            let Some(first) = (unsafe { self.first.get().as_ref() }) else {
                unlock(&self.lock);
                return;
            };
            self.remove(first);
            // SAFETY: the waiter was on the list, so its goroutine is in `ended_by`. It stays there
            // at least until the unlock, and then until it is woken. give_up is the pointer that
            // `ended_by` has stored.
            unsafe { (first.end)(first.give_up, &|| unlock(&self.lock)) };
        }
    }

    /// Calls `sleep`, which waits until it is woken, and ends the wait if the event comes first:
    /// see `with_limit`, in `time/fire.rs`.
    ///
    /// # Safety
    /// As there.
    pub(in crate::runtime) unsafe fn ended_by<R, G, W>(&self, give_up: &G, sleep: impl FnOnce() -> R) -> R
    where
        G: Fn() -> Option<W>,
        W: FnOnce(),
    {
        let waiter = Waiter {
            end: end_waiter::<G, W>,
            give_up: ptr::from_ref(give_up).cast(),
            prev: Cell::new(ptr::null()),
            next: Cell::new(ptr::null()),
        };
        lock_ranked(&self.lock, LockRank::TIMER_SEND);
        let unlock = || unlock(&self.lock);
        if self.came.get() {
            // SAFETY: give_up is borrowed. The lock is held, and `unlock` releases it.
            unsafe { end_waiter::<G, W>(waiter.give_up, &unlock) };
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
        // SAFETY: a waiter stays until it is taken off the list, with the lock held.
        if let Some(first) = unsafe { first.as_ref() } {
            first.prev.set(waiter);
        }
    }

    /// Takes a waiter off the list. It is on the list, and the lock is held.
    fn remove(&self, waiter: &Waiter) {
        let (prev, next) = (waiter.prev.replace(ptr::null()), waiter.next.replace(ptr::null()));
        // SAFETY: its neighbours are on the list too, and stay until they are taken off it, with
        // the lock held.
        let neighbours = unsafe { (prev.as_ref(), next.as_ref()) };
        neighbours.0.map_or(&self.first, |prev| &prev.next).set(next);
        if let Some(next) = neighbours.1 {
            next.prev.set(prev);
        }
    }
}

/// An [`EndWait`].
///
/// # Safety
/// `give_up` is a `G`, which stays until `unlock` has returned.
pub(in crate::runtime) unsafe fn end_waiter<G: Fn() -> Option<W>, W: FnOnce()>(
    give_up: *const (),
    unlock: &dyn Fn(),
) {
    // SAFETY: the caller says that `give_up` is a `G` that stays.
    let wake = unsafe { (*give_up.cast::<G>())() };
    // The woken goroutine takes the lock to leave, so it is released before the wake.
    unlock();
    if let Some(wake) = wake {
        wake();
    }
}
