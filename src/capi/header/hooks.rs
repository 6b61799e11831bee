//! What C programs see of the hooks of a runtime that is ported onto this one.

use std::ffi::{c_int, c_void};

use crate::capi::{Address, Goroutine, Processor};

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
