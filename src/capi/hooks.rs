//! A ported runtime's hooks for C: the functions that the stubs of `asm/*/entry.S` jump to, and
//! what calls the hooks that are C's. Each `unsafe` block relies on what the function of the same
//! name in `header/` asks of its caller.

use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr;
use std::sync::OnceLock;

use crate::capi;
use crate::capi::caller::{need, null};
use crate::runtime::runtime2::{G, P};
use crate::runtime::{AdjustInfo, Hooks, started, try_set_hooks};

/// The hooks that C has registered. Of these, the runtime has those functions below whose hook
/// there is.
static HOOKS: OnceLock<capi::Hooks> = OnceLock::new();

/// A hook of C's.
fn hook<F>(which: impl FnOnce(&capi::Hooks) -> Option<F>) -> Option<F> {
    HOOKS.get().and_then(which)
}

/// A P as C knows it.
fn processor(pp: &P) -> *mut capi::Processor {
    ptr::from_ref(pp).cast_mut().cast()
}

fn p_init(pp: &P) {
    if let Some(f) = hook(|hooks| hooks.p_init) {
        // SAFETY: the program passed it to be called so.
        unsafe { f(processor(pp)) }
    }
}

fn p_destroy(pp: &P) {
    if let Some(f) = hook(|hooks| hooks.p_destroy) {
        // SAFETY: the program passed it to be called so.
        unsafe { f(processor(pp)) }
    }
}

fn acquirep(pp: &P) {
    if let Some(f) = hook(|hooks| hooks.acquirep) {
        // SAFETY: the program passed it to be called so.
        unsafe { f(processor(pp)) }
    }
}

fn find_runnable_gc_worker(pp: &P) -> *mut G {
    // SAFETY: the program passed it to be called so.
    let found = hook(|hooks| hooks.find_runnable_gc_worker).map(|f| unsafe { f(processor(pp)) });
    found.map_or(ptr::null_mut(), |gp| gp.cast())
}

fn gdestroy(gp: &G) {
    if let Some(f) = hook(|hooks| hooks.gdestroy) {
        // SAFETY: the program passed it to be called so.
        unsafe { f(gp.as_ptr().cast()) }
    }
}

fn copystack(gp: &G, info: &AdjustInfo) {
    if let Some(f) = hook(|hooks| hooks.copystack) {
        // SAFETY: the program passed it to be called so.
        unsafe { f(gp.as_ptr().cast(), ptr::from_ref(info).cast()) }
    }
}

/// A move of a stack in C is the beginning of the runtime's.
const _: () = {
    use capi::AdjustInfo as C;
    assert!(offset_of!(C, old_lo) == offset_of!(AdjustInfo, old.lo));
    assert!(offset_of!(C, old_hi) == offset_of!(AdjustInfo, old.hi));
    assert!(offset_of!(C, delta) == offset_of!(AdjustInfo, delta));
};

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_set_hooks_impl(hooks: *const capi::Hooks) -> c_int {
    // SAFETY: hooks.
    let hooks = *unsafe { need("gosched_set_hooks", "hooks", hooks) };
    if started() || HOOKS.set(hooks).is_err() {
        return libc::EBUSY;
    }
    let ours = Hooks {
        p_init: hooks.p_init.map(|_| p_init as fn(&P)),
        p_destroy: hooks.p_destroy.map(|_| p_destroy as fn(&P)),
        acquirep: hooks.acquirep.map(|_| acquirep as fn(&P)),
        find_runnable_gc_worker: hooks
            .find_runnable_gc_worker
            .map(|_| find_runnable_gc_worker as fn(&P) -> *mut G),
        gdestroy: hooks.gdestroy.map(|_| gdestroy as fn(&G)),
        copystack: hooks.copystack.map(|_| copystack as fn(&G, &AdjustInfo)),
    };
    // SAFETY: the runtime hasn't started, and the hooks do as they should.
    if unsafe { try_set_hooks(ours) } { 0 } else { libc::EBUSY }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_adjust_pointer_impl(info: *const AdjustInfo, place: *mut *mut c_void) {
    // SAFETY: what the hook was passed, which is the runtime's.
    let info = unsafe { need("gosched_adjust_pointer", "info", info) };
    if place.is_null() {
        null("gosched_adjust_pointer", "place")
    }
    // SAFETY: an aligned word that nobody else uses.
    unsafe { info.adjustpointer(place.cast()) }
}
