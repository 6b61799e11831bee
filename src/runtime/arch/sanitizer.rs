//! Annotations for AddressSanitizer, its LeakSanitizer and ThreadSanitizer, except for the switches
//! (`sanitizers.S`). In a program that is built without a sanitizer each function here is empty.
//!
//! **AddressSanitizer**: the stacks of dead goroutines are poisoned, so that an access to one is
//! reported as a `use-after-poison`. When a stack is moved, AddressSanitizer forgets the old
//! stack's frames.
//!
//! **LeakSanitizer** would report memory to which only a parked goroutine's stack points, so it is
//! told where stacks are.
//!
//! Annotations that only ThreadSanitizer needs are in `tsan.rs`.

#[cfg(asan)]
use std::ffi::c_void;
#[cfg(any(asan, tsan))]
use std::ptr;

#[cfg(tsan)]
use crate::runtime::arch::tsan;
use crate::runtime::data::runtime2::{G, M, Stack};

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

/// Notes that a goroutine begins, and may use its `stack`. The closure is called only with a
/// sanitizer. Called by the goroutine's maker.
#[inline(always)]
pub(in crate::runtime) fn goroutine_begins(gp: &G, stack: impl Fn(&G) -> Stack) {
    #[cfg(asan)]
    {
        unpoison(stack(gp));
        gp.ext.sanitizer.set(ptr::null_mut());
    }
    #[cfg(tsan)]
    tsan::make_fiber(gp);
    let _ = (gp, stack);
}

/// Notes that the thread of `mp` ends. The sanitizer's state for its g0 ends too: the next thread,
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

/// Notes that a goroutine has ended and has left its stack, which nobody uses before
/// [`goroutine_begins`]. Called on g0.
#[inline(always)]
pub(in crate::runtime) fn goroutine_ended(gp: &G, stack: impl Fn(&G) -> Stack) {
    #[cfg(asan)]
    // SAFETY: memory of the runtime's.
    unsafe {
        let Stack { lo, hi } = stack(gp);
        __asan_poison_memory_region(ptr::without_provenance(lo), hi - lo);
    }
    #[cfg(tsan)]
    tsan::destroy_fiber(gp);
    let _ = (gp, stack);
}

/// Notes that the stack of `gp`, which doesn't run, moves from `old` to `new`. AddressSanitizer
/// forgets the frames in both. For ThreadSanitizer, the former user of `new` is ordered before
/// `gp`, and `gp` before the next user of `old`.
#[inline(always)]
pub(in crate::runtime) fn stack_moves(gp: &G, old: Stack, new: Stack) {
    unpoison(old);
    unpoison(new);
    #[cfg(tsan)]
    tsan::stack_moves(gp, old, new);
    let _ = gp;
}

/// Makes AddressSanitizer forget the frames in `stack`.
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

/// Notes that these `n` bytes hold stacks, G's or descriptors, so that memory to which they point
/// is in use.
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

/// Notes that a panic has unwound from g0 to the stack of `gp`, past the end of the routine that
/// changes stacks. Or it has stayed on g0's stack.
#[cold]
pub(super) fn unwound_to(gp: Option<&G>) {
    #[cfg(any(asan, tsan))]
    if let Some((gp, g0)) = gp.and_then(|gp| Some((gp, gp.m.get()?.g0.get()?)))
        && gp.m.get().and_then(|mp| mp.curg.get()).is_some_and(|curg| ptr::eq(gp, curg))
    {
        #[cfg(tsan)]
        let _ = (tsan::observe_accesses(), g0);
        #[cfg(asan)]
        // SAFETY: the switch is from g0's stack to that of `gp`, which is the caller's.
        unsafe {
            let Stack { lo, hi } = gp.stack.get();
            __sanitizer_start_switch_fiber(g0.ext.sanitizer.as_ptr(), ptr::without_provenance(lo), hi - lo);
            __sanitizer_finish_switch_fiber(gp.ext.sanitizer.get(), ptr::null_mut(), ptr::null_mut());
        }
    }
    let _ = gp;
}
