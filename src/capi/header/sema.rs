//! The part of the C interface for semaphores and conditions, on which Go's package `sync` is
//! built.

use crate::capi::WaitReason;

/// A condition's list of waiters: Go's `notifyList`, in `sema.go`. It begins as all zeros, `{0}`.
/// It isn't on a copying stack, and stays where it is while a caller waits.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct NotifyList {
    /// Private to the library.
    pub rest: [u64; 4],
}

unsafe extern "C" {
    /// Subtracts one from the number at `addr`, a semaphore. While the number is 0, waits for a
    /// release. Go's `semacquire`, in `sema.go`.
    ///
    /// Any `uint32_t` can be a semaphore. Its first value is how often it can be acquired without a
    /// release. The library keeps the waiters in a table, by the address. Use it as a pair of sleep
    /// and wakeup that can't miss each other: a lock has a word of its own for its state, and a
    /// semaphore to wait on.
    ///
    /// # Safety
    /// On a goroutine, or on another thread once the runtime runs, which then waits as a goroutine
    /// does. A call that doesn't have to wait can be made anywhere. The number is aligned, isn't on
    /// a copying stack, and stays until this returns. It is changed only by these functions or by
    /// atomic operations.
    pub fn gosched_semacquire(addr: *mut u32);

    /// As `gosched_semacquire`. With `lifo`, the caller waits before all others. Reports show
    /// `reason`. Go's `semacquire1`, in `sema.go`.
    ///
    /// # Safety
    /// As `gosched_semacquire`.
    pub fn gosched_semacquire1(addr: *mut u32, lifo: bool, reason: WaitReason);

    /// Adds one to the number at `addr`, and wakes one waiter. Go's `semrelease`, in `sema.go`.
    ///
    /// # Safety
    /// It can be called anywhere but in a signal handler. `addr` is as for `gosched_semacquire`.
    /// The semaphore may be gone as soon as another caller can know of the release.
    pub fn gosched_semrelease(addr: *mut u32);

    /// As `gosched_semrelease`. With `handoff`, the first waiter gets the added unit, and at once
    /// the rest of this goroutine's time slice. Go's `semrelease1`, in `sema.go`.
    ///
    /// # Safety
    /// As `gosched_semrelease`. With `handoff`, a goroutine may park here.
    pub fn gosched_semrelease1(addr: *mut u32, handoff: bool);

    /// Draws a number for a wait, with the lock of the condition held. The caller then releases the
    /// lock and passes the number to `gosched_notify_list_wait`. Go's `notifyListAdd`, in
    /// `sema.go`.
    ///
    /// # Safety
    /// It can be called anywhere. `l` is a list.
    pub fn gosched_notify_list_add(l: *mut NotifyList) -> u32;

    /// Waits until number `t` is notified. Returns at once if `t` was notified since it was drawn.
    /// Go's `notifyListWait`, in `sema.go`.
    ///
    /// # Safety
    /// On a goroutine, or on another thread once the runtime runs. `t` was drawn from this list,
    /// and is waited for once.
    pub fn gosched_notify_list_wait(l: *mut NotifyList, t: u32);

    /// Notifies all numbers that were drawn. Go's `notifyListNotifyAll`, in `sema.go`.
    ///
    /// # Safety
    /// It can be called anywhere but in a signal handler. `l` is a list.
    pub fn gosched_notify_list_notify_all(l: *mut NotifyList);

    /// Notifies the lowest number that wasn't notified yet. Does nothing if there is none. Go's
    /// `notifyListNotifyOne`, in `sema.go`.
    ///
    /// # Safety
    /// As `gosched_notify_list_notify_all`.
    pub fn gosched_notify_list_notify_one(l: *mut NotifyList);

    /// Whether it makes sense to spin for a lock for the `iter`th time, from 0 on: another
    /// goroutine runs that may unlock it, and no goroutine waits for this processor. Go's
    /// `canSpin`, in `proc.go`.
    ///
    /// # Safety
    /// It can be called anywhere. It returns false on a thread that isn't the runtime's.
    pub fn gosched_can_spin(iter: u32) -> bool;

    /// Spins, for about 30 pause instructions. Go's `doSpin`, in `proc.go`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_do_spin();
}
