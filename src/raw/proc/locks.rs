//! The raw face's functions that keep a goroutine where it is, or others out: M's, P's, threads and locks.

use crate::runtime::runtime2::{M, Mutex, TraceBlockReason, WaitReason};
use crate::runtime::{self, entry_check};

/// Keeps the caller on its M and its M on its P, until [`releasem`]. Go's `acquirem`, in
/// `runtime1.go`.
pub fn acquirem() -> *mut M {
    runtime::acquirem().map_or(std::ptr::null_mut(), |mp| std::ptr::from_ref(mp).cast_mut())
}

/// Undoes [`acquirem`]. Go's `releasem`, in `runtime1.go`.
///
/// # Safety
/// `mp` is what acquirem returned, and is released once.
pub unsafe fn releasem(mp: *mut M) {
    // SAFETY: null, or an M, which is never freed.
    runtime::releasem(unsafe { mp.as_ref() })
}

/// Locks the running goroutine to its thread, until [`unlock_os_thread`] was called as often. If it ends before, the
/// thread does. Go's `LockOSThread`, in `proc.go`.
///
/// # Safety
/// On a goroutine.
pub unsafe fn lock_os_thread() {
    entry_check();
    runtime::lock_os_thread()
}

/// Undoes one [`lock_os_thread`]; does nothing if there was none. Go's `UnlockOSThread`, in `proc.go`.
///
/// # Safety
/// On a goroutine.
pub unsafe fn unlock_os_thread() {
    runtime::unlock_os_thread()
}

/// Whether the running goroutine is locked to its thread. Go's `lockedOSThread`, in `proc.go`.
///
/// # Safety
/// On an M.
pub unsafe fn locked_os_thread() -> bool {
    runtime::locked_os_thread()
}

/// Keeps the running goroutine on its P, unpreempted, until [`proc_unpin`]; returns the P's number. What
/// pins doesn't park. Go's `procPin`, in `proc.go`.
///
/// # Safety
/// On a goroutine.
pub unsafe fn proc_pin() -> i32 {
    runtime::proc_pin()
}

/// Undoes [`proc_pin`]. Go's `procUnpin`, in `proc.go`.
///
/// # Safety
/// Once for each [`proc_pin`], on the same goroutine.
pub unsafe fn proc_unpin() {
    runtime::proc_unpin()
}

/// Takes a lock; blocks the thread meanwhile. Its owner is neither preempted nor stopped at a check, as after
/// [`acquirem`]. All zeros is one that nobody has. Go's `lock`, in `lock_futex.go`.
///
/// # Safety
/// `l` is a mutex that stays, which the caller doesn't have. Who has one doesn't park, but by [`goparkunlock`].
pub unsafe fn lock(l: *const Mutex) {
    entry_check();
    // SAFETY: a mutex that stays, as the caller says.
    runtime::lock(unsafe { &*l })
}

/// Releases a lock. Go's `unlock`, in `lock_futex.go`.
///
/// # Safety
/// The caller has it.
pub unsafe fn unlock(l: *const Mutex) {
    entry_check();
    // SAFETY: a mutex that stays, as the caller says.
    runtime::unlock(unsafe { &*l })
}

/// Parks the running goroutine until [`goready`](super::goready), and releases the lock once that is off its stack. Go's
/// `goparkunlock`, in `proc.go`.
///
/// # Safety
/// On a goroutine, which has the lock and no other. The lock's memory is never given back, as the lock is looked at once
/// more when the goroutine may have gone on; nothing obtained from a thread-local is kept across this.
pub unsafe fn goparkunlock(
    l: *const Mutex,
    reason: WaitReason,
    trace_reason: TraceBlockReason,
    traceskip: i32,
) {
    entry_check();
    // SAFETY: a mutex that stays, as the caller says.
    runtime::goparkunlock(unsafe { &*l }, reason, trace_reason, traceskip)
}
