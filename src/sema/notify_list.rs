//! Who waits for a condition: Go's `notifyList`, in `sema.go`.
//!
//! A waiter draws a number, then gives up its lock, then sleeps; a notification names a number.
//! So whoever has drawn one before the notification is woken by it, asleep already or not.

use std::sync::atomic::{AtomicU32, Ordering};

use crossbeam_utils::CachePadded;

use crate::lock::mutex::lock_ranked;
use crate::lock::rank::LockRank;
use crate::lock::unlock;
use crate::proc::allgs::SharedMutex;
use crate::proc::m::getm;
use crate::proc::park::{goparkunlock, goroutine};
use crate::proc::sudog::{acquire_sudog, release_sudog};
use crate::runtime2::{Link, Mutex, Sudog, TraceBlockReason, WaitReason};
use crate::sema::ready_with_time;

/// A list of waiters. Go's `notifyList`.
#[repr(C)]
pub(crate) struct NotifyList {
    /// The next number to draw.
    wait: AtomicU32,
    /// The next number to be notified; written with the lock held.
    notify: AtomicU32,
    head: Link<Sudog>,
    tail: Link<Sudog>,
}

// SAFETY: the list is protected by its lock.
unsafe impl Send for NotifyList {}
// SAFETY: likewise.
unsafe impl Sync for NotifyList {}

impl NotifyList {
    pub(crate) const fn new() -> Self {
        NotifyList {
            wait: AtomicU32::new(0),
            notify: AtomicU32::new(0),
            head: Link::null(),
            tail: Link::null(),
        }
    }
}

/// The locks of all lists. Go's are in the lists; but a waiter that has just parked may be woken
/// and free its list while its park is still at the lock.
static LOCKS: [CachePadded<SharedMutex>; 61] = [const { CachePadded::new(SharedMutex(Mutex::new())) }; 61];

/// The lock that protects `l`.
fn lock_for(l: &NotifyList) -> &'static Mutex {
    &LOCKS[(std::ptr::from_ref(l).addr() >> 3) % LOCKS.len()].0
}

/// Whether `a` was drawn before `b`: they may have wrapped. Go's `less`.
fn less(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Draws a number. Go's `notifyListAdd`.
pub(crate) fn notify_list_add(l: &NotifyList) -> u32 {
    l.wait.fetch_add(1, Ordering::SeqCst)
}

/// Sleeps until number `t` is notified. Go's `notifyListWait`.
pub(crate) fn notify_list_wait(l: &NotifyList, t: u32) {
    lock_ranked(lock_for(l), LockRank::NOTIFY_LIST);
    if less(t, l.notify.load(Ordering::Relaxed)) {
        unlock(lock_for(l));
        return;
    }
    let (gp, mp) = goroutine();
    let s = acquire_sudog(mp);
    s.g.set(Some(gp));
    s.ticket.set(t);
    s.releasetime.set(0);
    match l.tail.get() {
        None => l.head.set(Some(s)),
        Some(tail) => tail.next.set(Some(s)),
    }
    l.tail.set(Some(s));
    goparkunlock(lock_for(l), WaitReason::SyncCondWait, TraceBlockReason::CondWait, 3);
    release_sudog(getm(), s);
}

/// Notifies all numbers drawn. Go's `notifyListNotifyAll`.
pub(crate) fn notify_list_notify_all(l: &NotifyList) {
    if l.wait.load(Ordering::SeqCst) == l.notify.load(Ordering::SeqCst) {
        return;
    }
    lock_ranked(lock_for(l), LockRank::NOTIFY_LIST);
    let mut next = l.head.get();
    l.head.set(None);
    l.tail.set(None);
    // Who has drawn and isn't on the list will see this and not sleep.
    l.notify.store(l.wait.load(Ordering::SeqCst), Ordering::SeqCst);
    unlock(lock_for(l));
    while let Some(s) = next {
        next = s.next.get();
        s.next.set(None);
        ready_with_time(s, 4);
    }
}

/// Notifies the lowest number that isn't yet. Go's `notifyListNotifyOne`.
pub(crate) fn notify_list_notify_one(l: &NotifyList) {
    if l.wait.load(Ordering::SeqCst) == l.notify.load(Ordering::SeqCst) {
        return;
    }
    lock_ranked(lock_for(l), LockRank::NOTIFY_LIST);
    let t = l.notify.load(Ordering::Relaxed);
    if t == l.wait.load(Ordering::SeqCst) {
        unlock(lock_for(l));
        return;
    }
    l.notify.store(t.wrapping_add(1), Ordering::SeqCst);
    // As a rule it is near the head: the list is in the order of coming to sleep, which is
    // almost that of the numbers. If it isn't there, it will see the number and not sleep.
    let mut prev: Option<&'static Sudog> = None;
    let mut next = l.head.get();
    while let Some(s) = next {
        next = s.next.get();
        if s.ticket.get() != t {
            prev = Some(s);
            continue;
        }
        match prev {
            Some(prev) => prev.next.set(next),
            None => l.head.set(next),
        }
        if next.is_none() {
            l.tail.set(prev);
        }
        unlock(lock_for(l));
        s.next.set(None);
        ready_with_time(s, 4);
        return;
    }
    unlock(lock_for(l));
}
