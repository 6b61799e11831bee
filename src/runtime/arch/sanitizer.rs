//! What the runtime tells AddressSanitizer, its LeakSanitizer and ThreadSanitizer, except for the
//! switches (`sanitizers.S`). In a program that is built without a sanitizer each function here is
//! empty.
//!
//! **AddressSanitizer**: the stacks of dead goroutines are poisoned, so that an access to one is
//! reported as a `use-after-poison`. When a stack is moved, AddressSanitizer forgets what it knew
//! of the old stack's frames.
//!
//! **LeakSanitizer** takes what a parked goroutine's stack points to for leaked, unless it is told
//! where stacks are.
//!
//! **ThreadSanitizer** knows each goroutine as a fiber. It takes nothing for ordered because one
//! goroutine runs after another, or on the same thread. Only the program's own actions order: the
//! program's atomics, and the runtime's where a goroutine uses them. ThreadSanitizer doesn't see
//! what g0 does. So where a wake-up goes over g0, the goroutine that makes another one runnable
//! [releases](release) what it did, and the other goroutine acquires that as it goes on.

#[cfg(any(asan, tsan))]
use std::ffi::c_void;
#[cfg(tsan)]
use std::ffi::{CString, c_char, c_int, c_uint};
#[cfg(any(asan, tsan))]
use std::ptr;
use std::task::Waker;

use crate::runtime::data::runtime2::{G, M, Stack};

/// Switches fibers without ordering the one after the other.
#[cfg(tsan)]
const NO_SYNC: c_uint = 1;

/// Whether the program is built with AddressSanitizer or ThreadSanitizer.
pub(in crate::runtime) const SANITIZED: bool = cfg!(any(asan, tsan));

#[cfg(asan)]
unsafe extern "C" {
    fn __asan_poison_memory_region(start: *const c_void, n: usize);
    fn __asan_unpoison_memory_region(start: *const c_void, n: usize);
    fn __lsan_register_root_region(start: *const c_void, n: usize);
    fn __sanitizer_set_death_callback(f: extern "C" fn());
    fn __sanitizer_start_switch_fiber(save: *mut *mut c_void, bottom: *const c_void, n: usize);
    fn __sanitizer_finish_switch_fiber(save: *mut c_void, bottom: *mut *const c_void, n: *mut usize);
}

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

/// Orders all that the caller has done before what follows an acquire of `at`. A goroutine acquires
/// its G as it goes on; other code calls [`acquire`], or reads there with
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

/// Orders all that was done before a [`release`] of `at` before what the caller does next.
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
pub(crate) fn keep_waker(waker: &Waker) -> Waker {
    #[cfg(tsan)]
    release(waker.data());
    waker.clone()
}

/// Acquires a [kept](keep_waker) waker, which is about to wake.
#[inline(always)]
pub(crate) fn acquire_waker(waker: &Waker) {
    #[cfg(tsan)]
    acquire(waker.data());
    let _ = waker;
}

/// Calls `f`, whose reads and writes are the scheduler's and race with nobody: `f` hands its
/// results on in ways that ThreadSanitizer doesn't see. `f` doesn't park or unwind.
#[inline(always)]
pub(crate) fn unseen<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(tsan)]
    // SAFETY: ended below, on the same fiber.
    unsafe {
        AnnotateIgnoreReadsBegin(ptr::null(), 0);
        AnnotateIgnoreWritesBegin(ptr::null(), 0);
    }
    let result = f();
    #[cfg(tsan)]
    seen();
    result
}

/// Calls `f`, which acts for the program on g0, as where a timer fires. ThreadSanitizer sees what
/// `f` orders. `f` doesn't unwind.
#[inline(always)]
pub(in crate::runtime) fn ordering<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(tsan)]
    // SAFETY: g0's fiber ignores it elsewhere (sanitizers.S).
    unsafe {
        AnnotateIgnoreSyncEnd(ptr::null(), 0)
    };
    let result = f();
    #[cfg(tsan)]
    // SAFETY: as above.
    unsafe {
        AnnotateIgnoreSyncBegin(ptr::null(), 0)
    };
    result
}

/// Ends what [`unseen`] has begun, or a call of `systemstack`.
#[cfg(tsan)]
fn seen() {
    // SAFETY: both were begun on this fiber.
    unsafe {
        AnnotateIgnoreWritesEnd(ptr::null(), 0);
        AnnotateIgnoreReadsEnd(ptr::null(), 0);
    }
}

/// A goroutine begins, and may use its `stack`. Only a sanitizer calls `stack`. Called by the
/// goroutine's maker.
#[inline(always)]
pub(in crate::runtime) fn goroutine_begins(gp: &G, stack: impl Fn(&G) -> Stack) {
    #[cfg(asan)]
    {
        unpoison(stack(gp));
        gp.ext.sanitizer.set(ptr::null_mut());
    }
    #[cfg(tsan)]
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
    let _ = (gp, stack);
}

/// A thread that isn't ours becomes the goroutine `gp` of `mp`, and keeps its own fiber.
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

/// The thread of `mp` ends. The state that a sanitizer kept for its g0 ends too: the next thread,
/// or a guest, has its own.
#[inline(always)]
pub(in crate::runtime) fn thread_ends(mp: &M) {
    #[cfg(any(asan, tsan))]
    {
        mp.ext.g0.ext.sanitizer.set(ptr::null_mut());
        mp.ext.fiber_turns.set(0);
    }
    let _ = mp;
}

/// A goroutine has ended and has left this stack, which nobody uses before [`goroutine_begins`]. On
/// g0.
#[inline(always)]
pub(in crate::runtime) fn goroutine_ended(gp: &G, stack: impl Fn(&G) -> Stack) {
    #[cfg(asan)]
    // SAFETY: memory of the runtime's.
    unsafe {
        let Stack { lo, hi } = stack(gp);
        __asan_poison_memory_region(ptr::without_provenance(lo), hi - lo);
    }
    #[cfg(tsan)]
    acting_as(gp, __tsan_release, gp.stack.get());
    #[cfg(tsan)]
    // SAFETY: goroutine_begins made the fiber, and the fiber that acts now is g0's.
    unsafe {
        __tsan_destroy_fiber(gp.ext.sanitizer.take())
    };
    let _ = (gp, stack);
}

/// The stack of `gp`, which doesn't run, moves from `old` to `new`: what AddressSanitizer knows of
/// frames in both holds no longer. For ThreadSanitizer, the former user of `new` has used it before
/// `gp` does, and the next user of `old` uses it after.
#[inline(always)]
pub(in crate::runtime) fn stack_moves(gp: &G, old: Stack, new: Stack) {
    unpoison(old);
    unpoison(new);
    #[cfg(tsan)]
    {
        acting_as(gp, __tsan_release, old);
        acting_as(gp, __tsan_acquire, new);
    }
    let _ = gp;
}

/// Releases or acquires a stack for `gp`, which doesn't run. If g0 did so, all goroutines whose
/// stacks one thread has moved would be ordered one after the other. Nothing is accessed between
/// the switches, as the access would be seen as one of `gp`.
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

/// Makes AddressSanitizer forget what it knows of frames in `stack`.
#[inline(always)]
fn unpoison(stack: Stack) {
    #[cfg(asan)]
    // SAFETY: memory of the runtime's.
    unsafe {
        __asan_unpoison_memory_region(ptr::without_provenance(stack.lo), stack.hi - stack.lo)
    };
    let _ = stack;
}

/// Registers `f`, which a sanitizer calls after it has reported an error that ends the process.
pub(in crate::runtime) fn before_death(f: extern "C" fn()) {
    #[cfg(asan)]
    // SAFETY: a function without conditions.
    unsafe {
        __sanitizer_set_death_callback(f)
    };
    let _ = f;
}

/// The caller ends the process now, and doesn't return. It moves to a fiber that ThreadSanitizer
/// sees, because ThreadSanitizer reports an exit from an unseen one as a mistake.
#[inline(always)]
pub(in crate::runtime) fn process_ends() {
    #[cfg(tsan)]
    // SAFETY: the fiber is new and sees everything; no function that was called on another fiber
    // returns on it.
    unsafe {
        __tsan_switch_to_fiber(__tsan_create_fiber(0), NO_SYNC)
    };
}

/// These `n` bytes hold stacks, G's or descriptors, and what they point to is in use.
#[inline(always)]
pub(in crate::runtime) fn holds_roots(start: *const u8, n: usize) {
    #[cfg(asan)]
    // SAFETY: memory of the runtime's, for life. LeakSanitizer looks guard pages up, and doesn't
    // read them.
    unsafe {
        __lsan_register_root_region(start.cast(), n)
    };
    let _ = (start, n);
}

/// A panic has gone from g0 back to the stack of `gp`, past the end of the routine that changes
/// stacks; or it has gone to g0's stack, which it hadn't left.
#[cold]
pub(super) fn unwound_to(gp: Option<&G>) {
    #[cfg(any(asan, tsan))]
    if let Some((gp, g0)) = gp.and_then(|gp| Some((gp, gp.m.get()?.g0.get()?)))
        && gp.m.get().and_then(|mp| mp.curg.get()).is_some_and(|curg| ptr::eq(gp, curg))
    {
        #[cfg(tsan)]
        let _ = (seen(), g0);
        #[cfg(asan)]
        // SAFETY: from g0's stack to that of `gp`, which is the caller's.
        unsafe {
            let Stack { lo, hi } = gp.stack.get();
            __sanitizer_start_switch_fiber(g0.ext.sanitizer.as_ptr(), ptr::without_provenance(lo), hi - lo);
            __sanitizer_finish_switch_fiber(gp.ext.sanitizer.get(), ptr::null_mut(), ptr::null_mut());
        }
    }
    let _ = gp;
}
