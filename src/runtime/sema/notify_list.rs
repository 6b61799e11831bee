//! Waiting for a condition: Go's `notifyList`, in `sema.go`.
//!
//! A waiter draws a number, then gives up its lock, then sleeps. A notification names a number. So
//! it wakes a waiter that has drawn its number before, whether or not the waiter sleeps yet.

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use crossbeam_utils::CachePadded;

use crate::runtime::base::this::goroutine;
use crate::runtime::data::cell::Cell;
use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::{Mutex, Sudog, TraceBlockReason, WaitReason};
use crate::runtime::g::extent::ends_early;
use crate::runtime::g::sudog::acquire_sudog;
use crate::runtime::lock::mutex::{SharedMutex, lock_ranked};
use crate::runtime::lock::rank::LockRank;
use crate::runtime::lock::unlock;
use crate::runtime::prof::contention::Wait;
use crate::runtime::sched::park::goparkunlock;
use crate::runtime::sema::semacquire::{end_wait, ready_with_time};
use crate::runtime::time::fire::Limit;
use crate::runtime::time::in_run::with_limit_in_run;

/// A list of waiters. All zero, it is empty. Go's `notifyList`.
#[repr(C)]
pub struct NotifyList {
    /// The next number to draw.
    // A notification reads this without the lock first. It finds the number of each waiter that
    // drew one before: the lock that the waiter then gave up orders the two. SeqCst, as in Go.
    wait: AtomicU32,
    /// The next number to be notified; written with the lock held.
    // Read without the lock after `wait`. If a number is drawn in between, the notification misses
    // it, as if the number were drawn later. SeqCst, as in Go.
    notify: AtomicU32,
    head: Link<Sudog>,
    tail: Link<Sudog>,
    /// One past the highest number that has left without being notified, or `notify`, if that is
    /// higher; written with the lock held.
    left: AtomicU32,
}

// SAFETY: all fields are atomics, and the sudogs that they link only change with the list's lock
// held.
unsafe impl Send for NotifyList {}
// SAFETY: as for Send.
unsafe impl Sync for NotifyList {}

impl Default for NotifyList {
    fn default() -> Self {
        NotifyList::new()
    }
}

impl NotifyList {
    /// An empty list.
    pub const fn new() -> Self {
        NotifyList {
            wait: AtomicU32::new(0),
            notify: AtomicU32::new(0),
            head: Link::null(),
            tail: Link::null(),
            left: AtomicU32::new(0),
        }
    }

    /// Adds `s` at the end. The lock is held.
    fn push_back(&self, s: &'static Sudog) {
        match self.tail.get() {
            None => self.head.set(Some(s)),
            Some(tail) => tail.next.set(Some(s)),
        }
        self.tail.set(Some(s));
    }

    /// Takes out the first waiter for which `wanted` returns true. The lock is held.
    fn take(&self, wanted: impl Fn(&Sudog) -> bool) -> Option<&'static Sudog> {
        let mut prev: Option<&'static Sudog> = None;
        let mut next = self.head.get();
        while let Some(s) = next {
            next = s.next.get();
            if !wanted(s) {
                prev = Some(s);
                continue;
            }
            match prev {
                Some(prev) => prev.next.set(next),
                None => self.head.set(next),
            }
            if next.is_none() {
                self.tail.set(prev);
            }
            s.next.set(None);
            return Some(s);
        }
        None
    }

    /// Takes out the waiter with the lowest number, which isn't below `t`. The lock is held.
    fn take_lowest(&self, t: u32) -> Option<&'static Sudog> {
        let sleepers = std::iter::successors(self.head.get(), |s| s.next.get());
        let lowest = sleepers.min_by_key(|s| s.ticket.get().wrapping_sub(t))?;
        self.take(|s| ptr::eq(s, lowest))
    }

    /// Marks all numbers below `next` as notified. The lock is held.
    fn notified(&self, next: u32) {
        // A waiter that has drawn its number and isn't on the list yet will see this, and won't
        // sleep: it looks with the lock held. SeqCst: see the field.
        self.notify.store(next, Ordering::SeqCst);
        if less(self.left.load(Ordering::Relaxed), next) {
            self.left.store(next, Ordering::Relaxed);
        }
    }

    /// Notes that number `t` has left without being notified. The lock is held.
    fn leave(&self, t: u32) {
        if !less(t, self.left.load(Ordering::Relaxed)) {
            self.left.store(t.wrapping_add(1), Ordering::Relaxed);
        }
    }
}

/// The locks of all lists. Go's locks are in the lists. Here a waiter that has just parked may be
/// woken and free its list while its park still uses the lock.
static LOCKS: [CachePadded<SharedMutex>; 61] = [const { CachePadded::new(SharedMutex(Mutex::new())) }; 61];

/// The lock that protects `l`.
fn lock_for(l: &NotifyList) -> &'static Mutex {
    &LOCKS[(ptr::from_ref(l).addr() >> 3) % LOCKS.len()].0
}

/// Whether `a` was drawn before `b`; numbers may wrap. Go's `less`.
fn less(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Draws a number. Go's `notifyListAdd`.
pub(crate) fn notify_list_add(l: &NotifyList) -> u32 {
    // SeqCst: see the field.
    l.wait.fetch_add(1, Ordering::SeqCst)
}

/// Sleeps until number `t` is notified. Go's `notifyListWait`.
pub(crate) fn notify_list_wait(l: &NotifyList, t: u32) {
    lock_ranked(lock_for(l), LockRank::NOTIFY_LIST);
    if less(t, l.notify.load(Ordering::Relaxed)) {
        unlock(lock_for(l));
        return;
    }
    let (s, wait) = enter(l, t);
    goparkunlock(lock_for(l), WaitReason::SyncCondWait, TraceBlockReason::CondWait, 3);
    end_wait(wait, s);
}

/// Enters the running goroutine in the list, with number `t`. The lock is held.
fn enter(l: &NotifyList, t: u32) -> (&'static Sudog, Wait) {
    let (gp, mp) = goroutine();
    let s = acquire_sudog(mp);
    s.g.set(Some(gp));
    s.ticket.set(t);
    let wait = Wait::begin();
    s.releasetime.set(wait.releasetime());
    l.push_back(s);
    (s, wait)
}

/// [`notify_list_wait`] that ends with the limit, or with the run. Returns whether the number was
/// notified.
pub(crate) fn notify_list_wait_limited(l: &NotifyList, t: u32, limit: Option<Limit<'_>>) -> bool {
    if limit.is_none() && !ends_early() {
        notify_list_wait(l, t);
        return true;
    }
    // The waiter's sudog and its wait, once it is on the list.
    let sleeper: Cell<Option<(&'static Sudog, Wait)>> = Cell::new(None);
    let gave_up = Cell::new(false);
    let give_up = || {
        lock_ranked(lock_for(l), LockRank::NOTIFY_LIST);
        let s = sleeper.get().and_then(|(s, _)| l.take(|other| ptr::eq(other, s)));
        // The waiter leaves if it sleeps, or hasn't begun to sleep. Otherwise it was notified, and
        // is off the list.
        if s.is_some() || sleeper.get().is_none() {
            gave_up.set(true);
            l.leave(t);
        }
        unlock(lock_for(l));
        s.map(|s| || ready_with_time(s))
    };
    let sleep = || {
        lock_ranked(lock_for(l), LockRank::NOTIFY_LIST);
        let notified = less(t, l.notify.load(Ordering::Relaxed));
        if notified || gave_up.get() {
            unlock(lock_for(l));
            return notified;
        }
        sleeper.set(Some(enter(l, t)));
        goparkunlock(lock_for(l), WaitReason::SyncCondWait, TraceBlockReason::CondWait, 3);
        !gave_up.get()
    };
    // SAFETY: the cells change with the list's lock held. Without the lock only the waiter that was
    // woken reads them. Then its sudog is set and off the list, so the cells don't change.
    let notified = unsafe { with_limit_in_run(limit, &give_up, sleep) };
    // Released only now: until with_limit returns, the limit's function may be looking for the
    // sudog.
    if let Some((s, wait)) = sleeper.get() {
        end_wait(wait, s);
    }
    notified
}

/// Notifies all numbers that were drawn. Go's `notifyListNotifyAll`.
pub(crate) fn notify_list_notify_all(l: &NotifyList) {
    // SeqCst: see the fields.
    if l.wait.load(Ordering::SeqCst) == l.notify.load(Ordering::SeqCst) {
        return;
    }
    lock_ranked(lock_for(l), LockRank::NOTIFY_LIST);
    let mut next = l.head.get();
    l.head.set(None);
    l.tail.set(None);
    l.notified(l.wait.load(Ordering::SeqCst));
    unlock(lock_for(l));
    while let Some(s) = next {
        next = s.next.get();
        s.next.set(None);
        ready_with_time(s);
    }
}

/// Notifies the lowest number that isn't notified yet. Go's `notifyListNotifyOne`.
pub(crate) fn notify_list_notify_one(l: &NotifyList) {
    // SeqCst: see the fields.
    if l.wait.load(Ordering::SeqCst) == l.notify.load(Ordering::SeqCst) {
        return;
    }
    lock_ranked(lock_for(l), LockRank::NOTIFY_LIST);
    let t = l.notify.load(Ordering::Relaxed);
    if t == l.wait.load(Ordering::SeqCst) {
        unlock(lock_for(l));
        return;
    }
    let may_have_left = less(t, l.left.load(Ordering::Relaxed));
    l.notified(t.wrapping_add(1));
    // As a rule the waiter is near the head: the list is in the order of going to sleep, which is
    // almost the order of the numbers. If the waiter isn't on the list yet, it will see `notify`,
    // and won't sleep.
    let mut s = l.take(|s| s.ticket.get() == t);
    if s.is_none() && may_have_left {
        // Or number `t` has left, and the notification is for the next waiter that sleeps. Waiters
        // with lower numbers that have yet to come won't sleep either. If no waiter sleeps, none
        // that has drawn a number will.
        s = l.take_lowest(t);
        l.notified(s.map_or(l.wait.load(Ordering::SeqCst), |s| s.ticket.get().wrapping_add(1)));
    }
    unlock(lock_for(l));
    if let Some(s) = s {
        ready_with_time(s);
    }
}
