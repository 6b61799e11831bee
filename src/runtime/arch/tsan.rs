//! Annotations for ThreadSanitizer only. In a program that is built without it, each function here
//! is empty, or only calls its argument.
//!
//! ThreadSanitizer knows each goroutine as a fiber. That one goroutine runs after another, or on
//! the same thread, orders nothing for it. Only actions of goroutines do: the program's atomics,
//! and the runtime's where a goroutine uses them. ThreadSanitizer doesn't see the actions of g0. So
//! where a wake-up goes over g0, the goroutine that makes another one runnable [releases](release)
//! its actions, and the other goroutine acquires them as it goes on.

#[cfg(tsan)]
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
#[cfg(tsan)]
use std::ptr;
use std::task::Waker;

#[cfg(tsan)]
use crate::runtime::data::runtime2::Stack;
use crate::runtime::data::runtime2::{G, M};

/// Switches fibers without ordering the new one after the old one.
#[cfg(tsan)]
const NO_SYNC: c_uint = 1;

#[cfg(tsan)]
unsafe extern "C" {
    fn __tsan_get_current_fiber() -> *mut c_void;
    fn __tsan_create_fiber(flags: c_uint) -> *mut c_void;
    fn __tsan_destroy_fiber(fiber: *mut c_void);
    fn __tsan_switch_to_fiber(fiber: *mut c_void, flags: c_uint);
    fn __tsan_set_fiber_name(fiber: *mut c_void, name: *const c_char);
    fn AnnotateIgnoreReadsBegin(file: *const c_char, line: c_int);
    fn AnnotateIgnoreReadsEnd(file: *const c_char, line: c_int);
    fn AnnotateIgnoreSyncBegin(file: *const c_char, line: c_int);
    fn AnnotateIgnoreSyncEnd(file: *const c_char, line: c_int);
    fn AnnotateIgnoreWritesBegin(file: *const c_char, line: c_int);
    fn AnnotateIgnoreWritesEnd(file: *const c_char, line: c_int);
    fn __tsan_acquire(at: *const c_void);
    fn __tsan_release(at: *const c_void);
}

/// Orders the caller's earlier actions before the actions that follow an acquire of `at`. A
/// goroutine acquires its G as it goes on; other code calls [`acquire`], or reads there with
/// [`Acquire`](std::sync::atomic::Ordering::Acquire).
#[inline(always)]
pub(crate) fn release<T>(at: *const T) {
    #[cfg(tsan)]
    // SAFETY: the address stands for itself: nothing is read there.
    unsafe {
        __tsan_release(at.cast())
    };
    let _ = at;
}

/// Orders the actions before a [`release`] of `at` before the caller's next actions.
#[inline(always)]
pub(crate) fn acquire<T>(at: *const T) {
    #[cfg(tsan)]
    // SAFETY: as in release.
    unsafe {
        __tsan_acquire(at.cast())
    };
    let _ = at;
}

/// Clones a waker that is kept until a thread wakes it. That thread then [acquires](acquire) the
/// waker's data.
#[inline(always)]
pub(crate) fn clone_waker(waker: &Waker) -> Waker {
    #[cfg(tsan)]
    release(waker.data());
    waker.clone()
}

/// Acquires a waker of [`clone_waker`], which is about to wake.
#[inline(always)]
pub(crate) fn acquire_waker(waker: &Waker) {
    #[cfg(tsan)]
    acquire(waker.data());
    let _ = waker;
}

/// Calls `f`, whose reads and writes are the scheduler's and don't race, although ThreadSanitizer
/// doesn't see how `f` hands its results on. `f` doesn't park or unwind.
#[inline(always)]
pub(crate) fn ignore_accesses<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(tsan)]
    // SAFETY: this is ended below, on the same fiber.
    unsafe {
        AnnotateIgnoreReadsBegin(ptr::null(), 0);
        AnnotateIgnoreWritesBegin(ptr::null(), 0);
    }
    let result = f();
    #[cfg(tsan)]
    observe_accesses();
    result
}

/// Calls `f`, which acts for the program on g0, as when a timer fires. ThreadSanitizer sees the
/// order that `f` makes. `f` doesn't unwind.
#[inline(always)]
pub(in crate::runtime) fn observe_sync<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(tsan)]
    // SAFETY: g0's fiber ignores it elsewhere (sanitizers.S).
    unsafe {
        AnnotateIgnoreSyncEnd(ptr::null(), 0)
    };
    let result = f();
    #[cfg(tsan)]
    // SAFETY: g0's fiber ignores it elsewhere (sanitizers.S).
    unsafe {
        AnnotateIgnoreSyncBegin(ptr::null(), 0)
    };
    result
}

/// Ends the effect of [`ignore_accesses`], or of a call of `systemstack`.
#[cfg(tsan)]
pub(super) fn observe_accesses() {
    // SAFETY: both were begun on this fiber.
    unsafe {
        AnnotateIgnoreWritesEnd(ptr::null(), 0);
        AnnotateIgnoreReadsEnd(ptr::null(), 0);
    }
}

/// Makes a fiber for `gp`, which begins.
#[cfg(tsan)]
pub(super) fn make_fiber(gp: &G) {
    // SAFETY: the fiber is new; a name is copied.
    unsafe {
        let fiber = __tsan_create_fiber(0);
        let name = gp.ext.name.get();
        if let Ok(name) = CString::new(name.as_str())
            && !name.is_empty()
        {
            __tsan_set_fiber_name(fiber, name.as_ptr());
        }
        gp.ext.sanitizer.set(fiber);
    }
}

/// Notes that a thread that isn't ours becomes the goroutine `gp` of `mp`, and keeps its own fiber.
#[inline(always)]
pub(in crate::runtime) fn guest_begins(gp: &G, mp: &M) {
    #[cfg(tsan)]
    // SAFETY: a function without conditions.
    unsafe {
        let fiber = __tsan_get_current_fiber();
        gp.ext.sanitizer.set(fiber);
        mp.ext.thread_fiber.set(fiber);
    }
    let _ = (gp, mp);
}

/// Destroys the fiber of `gp`, which has ended, and orders its use of its stack before the next
/// goroutine's. Called on g0.
#[cfg(tsan)]
pub(super) fn destroy_fiber(gp: &G) {
    acting_as(gp, __tsan_release, gp.stack.get());
    // SAFETY: make_fiber made the fiber, and the fiber that acts now is g0's.
    unsafe { __tsan_destroy_fiber(gp.ext.sanitizer.take()) };
}

/// Notes that the stack of `gp`, which doesn't run, moves: the former user of `new` is ordered
/// before `gp`, and `gp` before the next user of `old`.
#[cfg(tsan)]
pub(super) fn stack_moves(gp: &G, old: Stack, new: Stack) {
    acting_as(gp, __tsan_release, old);
    acting_as(gp, __tsan_acquire, new);
}

/// Releases or acquires a stack on behalf of `gp`, which doesn't run. If g0 did so, all goroutines
/// whose stacks one thread has moved would be ordered one after the other. Nothing is accessed
/// between the switches of fibers, as ThreadSanitizer would take it for an access by `gp`.
#[cfg(tsan)]
fn acting_as(gp: &G, f: unsafe extern "C" fn(*const c_void), stack: Stack) {
    let fiber = gp.ext.sanitizer.get();
    // SAFETY: a goroutine has a fiber until it has ended, and no thread acts as that fiber while
    // the goroutine doesn't run. The caller's fiber still exists at the switch back. The address
    // stands for itself.
    unsafe {
        let mine = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(fiber, NO_SYNC);
        f(ptr::without_provenance(stack.hi));
        __tsan_switch_to_fiber(mine, NO_SYNC);
    }
}

/// Moves the caller, which now ends the process, to a fiber that ThreadSanitizer observes, because
/// ThreadSanitizer reports an exit from an unobserved fiber as a mistake.
#[inline(always)]
pub(in crate::runtime) fn process_ends() {
    #[cfg(tsan)]
    // SAFETY: the fiber is new and sees everything; no function that was called on another fiber
    // returns on it.
    unsafe {
        __tsan_switch_to_fiber(__tsan_create_fiber(0), NO_SYNC)
    };
}
