//! The hooks of a runtime that is ported onto this one; and what a compiler knows about its code.

use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::sync::OnceLock;
use std::{mem, ptr};

use crate::capi::caller::{need, null};
use crate::capi::{Address, Goroutine, Processor};
use crate::runtime::runtime2::{G, P};
use crate::runtime::{
    self, PreemptibleError, register_preemptible, started, systemstack, try_register_frame_map,
    try_set_hooks, unregister_frame_map, unregister_preemptible,
};

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

/// A frame of a goroutine that isn't running, or whose stack is about to grow.
/// `docs/guide/copying-stacks.md` draws one.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Frame {
    /// Where the function goes on: the address that its call, or its check, returns to.
    pub pc: Address,
    /// The frame's low end, above that of the function that it called.
    pub sp: Address,
    /// The function's frame pointer. The words up to `fp + 16` belong to the frame.
    pub fp: Address,
}

/// The words in the frames of a range of code that hold addresses of the stack: what Go's compiler
/// records as stack maps.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FrameMap {
    /// Calls `slot(at, to)` with the address `at` of each word of `frame`, below its `fp`, that may
    /// hold an address of the stack. An `at` that is outside of the frame or isn't aligned ends the
    /// process. `arg` is the `arg` of this struct.
    ///
    /// It is called on the scheduler's stack, and doesn't park or unwind.
    pub slots: Option<
        unsafe extern "C" fn(
            frame: *const Frame,
            slot: unsafe extern "C" fn(at: Address, to: *mut c_void),
            to: *mut c_void,
            arg: *mut c_void,
        ),
    >,
    /// Passed to `slots`.
    pub arg: *mut c_void,
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

    /// Registers the map of the frames of the functions whose code is at `lo` to `hi`. When its
    /// stack moves, a frame that has a map is adjusted precisely: only the words that the map
    /// names, if they are addresses of the stack, and the caller's frame pointer are changed. Go's
    /// `getStackMap`, in `stkframe.go`, reads tables that its linker has written.
    ///
    /// Frames are found by their frame pointers. If a function below a frame keeps no frame
    /// pointer, the frame is adjusted as if it had no map. While a map is registered, a parked
    /// goroutine's stack is made smaller only if the function that parked it has a map.
    ///
    /// Returns 0, or an errno value:
    /// - `EINVAL`: there is nothing between `lo` and `hi`;
    /// - `EEXIST`: some of the code has a map already.
    ///
    /// It can be called anywhere but where the runtime calls a map. `*map` stays as it is until
    /// `gosched_unregister_frame_map`, and names every word of a frame that may hold an address of
    /// the stack. Each function of the code begins with `push %rbp; mov %rsp, %rbp`, on aarch64
    /// with `stp x29, x30, [sp, #-16]!; mov x29, sp`, and calls nothing before.
    pub fn gosched_register_frame_map(lo: Address, hi: Address, map: *const FrameMap) -> c_int;

    /// Removes the map that was registered for `lo` to `hi`. Returns 0, or `ENOENT` if there is
    /// none.
    ///
    /// # Safety
    /// As `gosched_register_frame_map`. No goroutine is in the code.
    pub fn gosched_unregister_frame_map(lo: Address, hi: Address) -> c_int;

    /// Registers the code at `lo` to `hi` as preemptible: a goroutine that is asked to stop while
    /// it runs this code stops there, between any two instructions. It is for code that the program
    /// generates; compiled functions are put into the section `gosched_preemptible` instead. Go's
    /// `isAsyncSafePoint`, in `preempt.go`, reads its compiler's tables.
    ///
    /// Returns 0, or an errno value:
    /// - `EINVAL`: there is nothing between `lo` and `hi`;
    /// - `EEXIST`: some of the code is preemptible already.
    ///
    /// # Safety
    /// It can be called anywhere but in a signal handler. Between any two instructions of the code
    /// the goroutine may park and continue on another thread. So the code holds nothing that
    /// belongs to a thread: no lock of pthreads, no address of a thread-local variable, no signal
    /// mask. It uses no more below its stack pointer than the ABI allows: 128 bytes on x86-64,
    /// nothing on aarch64. `docs/guide/preemption.md` lists all the rules for such code.
    pub fn gosched_register_preemptible(lo: Address, hi: Address) -> c_int;

    /// Undoes `gosched_register_preemptible`. Returns 0, or `ENOENT` if `lo` to `hi` wasn't
    /// registered with it.
    ///
    /// # Safety
    /// It can be called anywhere but in a signal handler. No goroutine is in the code.
    pub fn gosched_unregister_preemptible(lo: Address, hi: Address) -> c_int;
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

// SAFETY: the program has `slots` called with `arg` on any thread.
unsafe impl Sync for FrameMap {}

// SAFETY: `slots` names every word that may hold an address of the stack, and the functions keep
// frame pointers, as gosched_register_frame_map asks.
unsafe impl runtime::FrameMap for FrameMap {
    fn slots(&self, frame: &runtime::Frame, slot: &mut dyn FnMut(usize)) {
        /// Passes an address on to the `slot` at `to`.
        unsafe extern "C" fn pass_on(at: usize, to: *mut c_void) {
            // SAFETY: it is the `slot` below, which nobody else uses meanwhile.
            unsafe { (*to.cast::<&mut dyn FnMut(usize)>())(at) }
        }
        let Some(slots) = self.slots else { return };
        let runtime::Frame { pc, sp, fp } = *frame;
        let (frame, mut slot) = (Frame { pc, sp, fp }, slot);
        // SAFETY: the program passed it to be called so.
        unsafe { slots(&frame, pass_on, (&raw mut slot).cast(), self.arg) }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_register_frame_map_impl(lo: usize, hi: usize, map: *const FrameMap) -> c_int {
    // SAFETY: a map that stays.
    let map: &'static FrameMap = unsafe { need("gosched_register_frame_map", "map", map) };
    if map.slots.is_none() {
        null("gosched_register_frame_map", "map->slots")
    }
    if lo >= hi {
        return libc::EINVAL;
    }
    // SAFETY: the map is right for that code. On g0: the list of maps may grow.
    let registered = systemstack(|| unsafe { try_register_frame_map(&(lo..hi), map) });
    if registered { 0 } else { libc::EEXIST }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_unregister_frame_map_impl(lo: usize, hi: usize) -> c_int {
    if systemstack(|| unregister_frame_map(&(lo..hi))) { 0 } else { libc::ENOENT }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_register_preemptible_impl(lo: usize, hi: usize) -> c_int {
    // SAFETY: the code is as the function's doc has it.
    match unsafe { register_preemptible(lo..hi) } {
        Ok(registration) => {
            // Until gosched_unregister_preemptible.
            mem::forget(registration);
            0
        }
        Err(PreemptibleError::Empty(_)) => libc::EINVAL,
        Err(PreemptibleError::Overlaps(_)) => libc::EEXIST,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_unregister_preemptible_impl(lo: usize, hi: usize) -> c_int {
    if unregister_preemptible(&(lo..hi)) { 0 } else { libc::ENOENT }
}
