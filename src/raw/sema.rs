//! Semaphores that goroutines sleep on, and lists of waiters for a condition: Go's `sema.go`, as
//! its package `sync` calls it.
//!
//! These are for authors who port a runtime that has locks of its own. Everybody else uses
//! [`sync`](crate::sync).
//!
//! A semaphore is any number that counts. A caller that finds it 0 sleeps *at its address*, as on a
//! futex, so the number isn't on a copying stack. The sleepers are kept in a table. Use it as a
//! pair of sleep and wakeup that can't miss each other: a lock has a word of its own for its state,
//! and a semaphore to wait on.
//!
//! ```
//! use std::sync::atomic::AtomicU32;
//! use gosched::sema::{semacquire, semrelease};
//!
//! static DONE: AtomicU32 = AtomicU32::new(0);
//! gosched::run(|| {
//!     // SAFETY: DONE is a static.
//!     gosched::go(|| unsafe { semrelease(&DONE) });
//!     // SAFETY: likewise; on a goroutine that keeps nothing of a thread-local.
//!     unsafe { semacquire(&DONE) };
//! });
//! ```

use std::sync::atomic::AtomicU32;

pub use crate::runtime::NotifyList;
use crate::runtime::runtime2::WaitReason;
use crate::runtime::{self, entry_check, this_m};

/// Subtracts one from the semaphore; sleeps while it is 0. Go's `semacquire`.
///
/// # Safety
/// On a goroutine, or where it doesn't have to sleep; nothing obtained from a thread-local is kept
/// across this. The number isn't on a copying stack, and stays until this returns.
#[inline(always)]
pub unsafe fn semacquire(addr: *const AtomicU32) {
    // SAFETY: the caller keeps to the contract of semacquire, which semacquire1 shares.
    unsafe { semacquire1(addr, false, WaitReason::Semacquire) }
}

/// [`semacquire`]; with `lifo` the caller sleeps before all others. Reports show `reason`. Go's
/// `semacquire1`.
///
/// # Safety
/// As [`semacquire`].
#[inline(always)]
pub unsafe fn semacquire1(addr: *const AtomicU32, lifo: bool, reason: WaitReason) {
    entry_check();
    // SAFETY: a number that stays, as the caller says.
    runtime::semacquire1(unsafe { &*addr }, lifo, reason)
}

/// Adds one to the semaphore, and wakes a sleeper. On any thread. Go's `semrelease`.
///
/// # Safety
/// `addr` is as for [`semacquire`]. The number may be gone as soon as another caller can know of
/// the release.
#[inline(always)]
pub unsafe fn semrelease(addr: *const AtomicU32) {
    // SAFETY: the caller keeps to the contract of semrelease, which semrelease1 shares.
    unsafe { semrelease1(addr, false) }
}

/// [`semrelease`]; with `handoff`, the first sleeper at once gets the added unit and the rest of
/// this time slice. Go's `semrelease1`.
///
/// # Safety
/// As [`semrelease`]. With `handoff` on a goroutine, nothing obtained from a thread-local is kept
/// across this.
#[inline(always)]
pub unsafe fn semrelease1(addr: *const AtomicU32, handoff: bool) {
    entry_check();
    // SAFETY: the number is there until the add, as the caller says; after that only its address is
    // used.
    runtime::semrelease1(unsafe { &*addr }, handoff)
}

/// Draws a number for a wait, with the lock of the condition held. The caller then releases the
/// lock and passes the number to [`notify_list_wait`]. Go's `notifyListAdd`.
pub fn notify_list_add(l: &NotifyList) -> u32 {
    runtime::notify_list_add(l)
}

/// Sleeps until number `t` is notified. Returns at once if `t` was notified since it was drawn.
/// Go's `notifyListWait`.
///
/// # Safety
/// On a goroutine; nothing obtained from a thread-local is kept across this. The list isn't on a
/// copying stack, and stays until this returns. `t` was drawn from it, and is waited for once.
#[inline(always)]
pub unsafe fn notify_list_wait(l: *const NotifyList, t: u32) {
    entry_check();
    // SAFETY: a list that stays, as the caller says.
    runtime::notify_list_wait(unsafe { &*l }, t)
}

/// Notifies all numbers that were drawn. On any thread. Go's `notifyListNotifyAll`.
#[inline(always)]
pub fn notify_list_notify_all(l: &NotifyList) {
    entry_check();
    runtime::notify_list_notify_all(l)
}

/// Notifies the lowest number that wasn't notified yet. On any thread. Go's `notifyListNotifyOne`.
#[inline(always)]
pub fn notify_list_notify_one(l: &NotifyList) {
    entry_check();
    runtime::notify_list_notify_one(l)
}

/// Whether it makes sense to spin for a lock for the `iter`th time, from 0 on: another goroutine
/// runs that may unlock it, and no goroutine waits for this P. Go's `canSpin`, in `proc.go`.
pub fn can_spin(iter: u32) -> bool {
    this_m().is_some() && runtime::can_spin(iter)
}

/// Spins for a moment. Go's `doSpin`, in `proc.go`.
pub fn do_spin() {
    runtime::do_spin()
}
