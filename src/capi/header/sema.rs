//! What C programs see of semaphores and conditions: what Go's package `sync` is made of.

use crate::capi::WaitReason;

/// Who waits for a condition: Go's `notifyList`, in `sema.go`. It begins as all zeros, `{0}`. It isn't on a
/// copying stack, and stays where it is while somebody waits.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct NotifyList {
    /// The library's.
    pub rest: [u64; 4],
}

unsafe extern "C" {
    /// Takes one from the number at `addr`, a semaphore; while it is 0, waits for a release. Go's
    /// `semacquire`, in `sema.go`.
    ///
    /// A semaphore is any such number that begins as how many may be taken; those who wait are kept
    /// elsewhere, by its address. Think of a pair of sleep and wakeup that can't miss each other: a
    /// lock has its own word, and one of these to wait on.
    ///
    /// # Safety
    /// On a goroutine, or on another thread once the runtime runs, which then waits as a goroutine
    /// does; where it needn't wait, anywhere. The number is aligned, isn't on a copying stack, and stays
    /// until this returns; it is changed by these functions, or by atomic operations.
    pub fn gosched_semacquire(addr: *mut u32);

    /// As `gosched_semacquire`; with `lifo` it waits before all others. `reason` is what reports
    /// show. Go's `semacquire1`, in `sema.go`.
    ///
    /// # Safety
    /// As `gosched_semacquire`.
    pub fn gosched_semacquire1(addr: *mut u32, lifo: bool, reason: WaitReason);

    /// Adds one to the number at `addr`, and wakes one who waits. Go's `semrelease`, in `sema.go`.
    ///
    /// # Safety
    /// It can be called anywhere but in a signal handler. `addr` is as for `gosched_semacquire`. The
    /// semaphore may be gone as soon as another can know of the release.
    pub fn gosched_semrelease(addr: *mut u32);

    /// As `gosched_semrelease`; with `handoff`, what was added goes to the first who waits, and the rest
    /// of this goroutine's time slice too, at once. Go's `semrelease1`, in `sema.go`.
    ///
    /// # Safety
    /// As `gosched_semrelease`. With `handoff`, a goroutine may park here.
    pub fn gosched_semrelease1(addr: *mut u32, handoff: bool);

    /// Draws a number for a wait, with the lock of the condition held; release it then, and pass the
    /// number to `gosched_notify_list_wait`. Go's `notifyListAdd`, in `sema.go`.
    ///
    /// # Safety
    /// It can be called anywhere. `l` is a list.
    pub fn gosched_notify_list_add(l: *mut NotifyList) -> u32;

    /// Waits until number `t` is notified; returns at once if it was since it was drawn. Go's
    /// `notifyListWait`, in `sema.go`.
    ///
    /// # Safety
    /// On a goroutine, or on another thread once the runtime runs. `t` was drawn from this list, and is
    /// waited for once.
    pub fn gosched_notify_list_wait(l: *mut NotifyList, t: u32);

    /// Notifies all numbers that were drawn. Go's `notifyListNotifyAll`, in `sema.go`.
    ///
    /// # Safety
    /// It can be called anywhere but in a signal handler. `l` is a list.
    pub fn gosched_notify_list_notify_all(l: *mut NotifyList);

    /// Notifies the lowest number that wasn't yet; does nothing if there is none. Go's
    /// `notifyListNotifyOne`, in `sema.go`.
    ///
    /// # Safety
    /// As `gosched_notify_list_notify_all`.
    pub fn gosched_notify_list_notify_one(l: *mut NotifyList);

    /// Whether to spin for a lock makes sense, for the `iter`th time, from 0 on: another goroutine
    /// runs that may unlock it, and none waits for this processor. Go's `canSpin`, in `proc.go`.
    ///
    /// # Safety
    /// It can be called anywhere; false on a thread that isn't the runtime's.
    pub fn gosched_can_spin(iter: u32) -> bool;

    /// Spins, for about 30 pause instructions. Go's `doSpin`, in `proc.go`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_do_spin();
}
