//! The raw layer's functions that keep a goroutine where it is, or keep others out: M's, P's,
//! threads and locks.

use crate::runtime::runtime2::{M, Mutex, TraceBlockReason, WaitReason};
use crate::runtime::{self, entry_check};

/// Keeps the caller on its M, and the M on its P, until [`releasem`]. Go's `acquirem`, in
/// `runtime1.go`.
pub fn acquirem() -> *mut M {
    runtime::acquirem().map_or(std::ptr::null_mut(), |mp| std::ptr::from_ref(mp).cast_mut())
}

/// Undoes [`acquirem`]. Go's `releasem`, in `runtime1.go`.
///
/// # Safety
/// `mp` is the result of [`acquirem`], and is released once.
pub unsafe fn releasem(mp: *mut M) {
    // SAFETY: null, or an M, which is never freed.
    runtime::releasem(unsafe { mp.as_ref() })
}

/// Locks the running goroutine to its thread, until [`unlock_os_thread`] was called as often. If
/// the goroutine ends before, the thread ends too. Go's `LockOSThread`, in `proc.go`.
///
/// # Safety
/// On a goroutine.
pub unsafe fn lock_os_thread() {
    entry_check();
    runtime::lock_os_thread()
}

/// Undoes one [`lock_os_thread`]. Does nothing if the goroutine isn't locked. Go's
/// `UnlockOSThread`, in `proc.go`.
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

/// Keeps the running goroutine on its P, without preemption, until [`proc_unpin`]. A pinned
/// goroutine doesn't park. Returns the P's number. Go's `procPin`, in `proc.go`.
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

/// Takes a lock, and blocks the thread until it has the lock. As after [`acquirem`], the owner is
/// neither preempted nor stopped at a check. All zeros is an unlocked lock. Go's `lock`, in
/// `lock_futex.go`.
///
/// # Safety
/// `l` is a mutex that stays, and the caller doesn't have it. A caller that holds a lock doesn't
/// park, except by [`goparkunlock`].
pub unsafe fn lock(l: *const Mutex) {
    entry_check();
    // SAFETY: a mutex that stays, as the caller says.
    runtime::lock(unsafe { &*l })
}

/// Releases a lock. Go's `unlock`, in `lock_futex.go`.
///
/// # Safety
/// The caller has the lock.
pub unsafe fn unlock(l: *const Mutex) {
    entry_check();
    // SAFETY: a mutex that stays, as the caller says.
    runtime::unlock(unsafe { &*l })
}

/// Parks the running goroutine until [`goready`](super::goready), and releases the lock once the
/// goroutine is off its stack. Go's `goparkunlock`, in `proc.go`.
///
/// # Safety
/// On a goroutine, which has the lock and no other. The lock's memory is never given back, because
/// the lock is read once more when the goroutine may have gone on. Nothing obtained from a
/// thread-local is kept across this.
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
