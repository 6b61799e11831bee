//! The hooks of a runtime that is ported onto this one.

use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr;
use std::sync::OnceLock;

use crate::capi::caller::{need, null};
use crate::capi::{Address, Goroutine, Processor};
use crate::runtime::runtime2::{G, P};
use crate::runtime::{self, started, try_set_hooks};

/// A move of a stack: Go's `adjustinfo`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct AdjustInfo {
    /// The lowest address of the old stack.
    pub old_lo: Address,
    /// The end of the old stack.
    pub old_hi: Address,
    /// What is added to an address of the old stack, wrapping.
    pub delta: Address,
}

/// Functions of the program's that the scheduler calls, or NULL for each.
///
/// They run on the scheduler's stack, in the middle of something: they don't park and don't unwind.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Hooks {
    /// A P is set up: allocate its `mcache`. Go's `p.init`. The first calls are on the thread that
    /// starts the runtime. How many there are may change by itself whenever the world isn't
    /// stopped, until `gosched_set_gomaxprocs` is called: a collector that can't have that in a
    /// cycle calls it first.
    pub p_init: Option<unsafe extern "C" fn(p: *mut Processor)>,
    /// A P is given up, in a stopped world: free its `mcache`, flush its buffers. Go's `p.destroy`.
    pub p_destroy: Option<unsafe extern "C" fn(p: *mut Processor)>,
    /// A thread got a P: what must happen before it allocates. Go's `mcache.prepareForSweep`, in
    /// `acquirep`.
    pub acquirep: Option<unsafe extern "C" fn(p: *mut Processor)>,
    /// A worker of the collector that should run on this P now, and is `GOSCHED_GWAITING`, or NULL;
    /// asked before all other work. Go's `findRunnableGCWorker`.
    pub find_runnable_gc_worker: Option<unsafe extern "C" fn(p: *mut Processor) -> *mut Goroutine>,
    /// A goroutine has ended: drop what the program keeps for it. Go's `gdestroy`.
    pub gdestroy: Option<unsafe extern "C" fn(g: *mut Goroutine)>,
    /// The stack of a goroutine has been moved: adjust addresses of it that aren't on it, with
    /// `gosched_adjust_pointer`. The old stack is still there. Go's `adjustdefers` and
    /// `adjustpanics`, in `copystack`.
    pub copystack: Option<unsafe extern "C" fn(g: *mut Goroutine, info: *const AdjustInfo)>,
}

// C has only addresses of the opaque types.
#[allow(improper_ctypes)]
unsafe extern "C" {
    /// Registers hooks, once, before the runtime starts. `hooks` is copied. `acquirep`,
    /// `find_runnable_gc_worker` and `gdestroy`, which need a P, switch detaching off: see
    /// `gosched_set_detach`.
    ///
    /// Returns 0, or an errno value:
    /// - `EBUSY`: hooks were registered before, or the runtime has started.
    ///
    /// # Safety
    /// No thread starts the runtime meanwhile. The hooks do as `struct gosched_hooks` says.
    pub fn gosched_set_hooks(hooks: *const Hooks) -> c_int;

    /// If the word at `place` is an address of the old stack, makes it that of the same thing in
    /// the new one. Go's `adjustpointer`, in `stack.go`.
    ///
    /// # Safety
    /// In the hook `copystack`, which was passed `info`. `place` is aligned, and nobody else uses
    /// it meanwhile. It is in neither stack: the new one is adjusted by the runtime.
    pub fn gosched_adjust_pointer(info: *const AdjustInfo, place: *mut *mut c_void);
}

/// The hooks that C has registered. Of these, the runtime has those functions below whose hook
/// there is.
static HOOKS: OnceLock<Hooks> = OnceLock::new();

/// A hook of C's.
fn hook<F>(which: impl FnOnce(&Hooks) -> Option<F>) -> Option<F> {
    HOOKS.get().and_then(which)
}

/// A P as C knows it.
fn processor(pp: &P) -> *mut Processor {
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

fn copystack(gp: &G, info: &runtime::AdjustInfo) {
    if let Some(f) = hook(|hooks| hooks.copystack) {
        // SAFETY: the program passed it to be called so.
        unsafe { f(gp.as_ptr().cast(), ptr::from_ref(info).cast()) }
    }
}

/// A move of a stack in C is the beginning of the runtime's.
const _: () = {
    assert!(offset_of!(AdjustInfo, old_lo) == offset_of!(runtime::AdjustInfo, old.lo));
    assert!(offset_of!(AdjustInfo, old_hi) == offset_of!(runtime::AdjustInfo, old.hi));
    assert!(offset_of!(AdjustInfo, delta) == offset_of!(runtime::AdjustInfo, delta));
};

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_set_hooks_impl(hooks: *const Hooks) -> c_int {
    // SAFETY: hooks.
    let hooks = *unsafe { need("gosched_set_hooks", "hooks", hooks) };
    if started() || HOOKS.set(hooks).is_err() {
        return libc::EBUSY;
    }
    let ours = runtime::Hooks {
        p_init: hooks.p_init.map(|_| p_init as fn(&P)),
        p_destroy: hooks.p_destroy.map(|_| p_destroy as fn(&P)),
        acquirep: hooks.acquirep.map(|_| acquirep as fn(&P)),
        find_runnable_gc_worker: hooks
            .find_runnable_gc_worker
            .map(|_| find_runnable_gc_worker as fn(&P) -> *mut G),
        gdestroy: hooks.gdestroy.map(|_| gdestroy as fn(&G)),
        copystack: hooks.copystack.map(|_| copystack as fn(&G, &runtime::AdjustInfo)),
    };
    // SAFETY: the runtime hasn't started, and the hooks do as they should.
    if unsafe { try_set_hooks(ours) } { 0 } else { libc::EBUSY }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_adjust_pointer_impl(info: *const runtime::AdjustInfo, place: *mut *mut c_void) {
    // SAFETY: what the hook was passed, which is the runtime's.
    let info = unsafe { need("gosched_adjust_pointer", "info", info) };
    if place.is_null() {
        null("gosched_adjust_pointer", "place")
    }
    // SAFETY: an aligned word that nobody else uses.
    unsafe { info.adjustpointer(place.cast()) }
}
