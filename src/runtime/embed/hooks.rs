//! Functions of a runtime that is ported onto this scheduler: hooks, which are called where Go's
//! scheduler serves its allocator, its collector and its deferred calls, and the symbolizer, which
//! names code that only the embedder knows.

use std::cell::UnsafeCell;
use std::io;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::runtime::base::debug::set_detach;
use crate::runtime::data::adjust_info::AdjustInfo;
use crate::runtime::data::runtime2::{G, P};

/// Functions of an embedder that the scheduler calls. At first there are none.
///
/// They run on g0, on a stack of some 200 KiB. They must not panic and must not park.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hooks {
    /// A P is set up: allocate its `mcache`. Go's `p.init`. Until the program sets GOMAXPROCS, it
    /// may change by itself whenever the world isn't stopped. A collector that can't tolerate that
    /// in a cycle sets it first.
    pub p_init: Option<fn(&P)>,
    /// A P is given up, with the world stopped: free its `mcache`, flush its buffers. Go's
    /// `p.destroy`.
    pub p_destroy: Option<fn(&P)>,
    /// An M got a P: do what must happen before it allocates. Go's `mcache.prepareForSweep`, in
    /// `acquirep`.
    pub acquirep: Option<fn(&P)>,
    /// Returns a worker of the collector that should run on this P now, in state
    /// [`GWAITING`](crate::runtime2::GWAITING), or null. Called before all other work. Go's
    /// `findRunnableGCWorker`.
    pub find_runnable_gc_worker: Option<fn(&P) -> *mut G>,
    /// A goroutine has ended: drop its `_defer` and `_panic` chains. Go's `gdestroy`.
    pub gdestroy: Option<fn(&G)>,
    /// The stack of a goroutine has been moved: adjust the entries of its `_defer` and `_panic`
    /// chains. The heads are adjusted already, and the old stack is still there. Go's
    /// `adjustdefers` and `adjustpanics`, in `copystack`.
    pub copystack: Option<fn(&G, &AdjustInfo)>,
}

/// The hooks in force, the listener to events, and whether hooks were registered: in one cache
/// line, as each round of the scheduler reads it.
#[repr(align(64))]
struct Registry {
    hooks: UnsafeCell<Hooks>,
    /// A [`Tracer`](crate::proc::Tracer) that gets events, or null.
    listener: AtomicPtr<()>,
    taken: AtomicBool,
}

// SAFETY: the hooks are written once, before the runtime, which reads them, starts; the rest is
// atomic.
unsafe impl Sync for Registry {}

const _: () = assert!(size_of::<Registry>() == 64);

static REGISTRY: Registry = Registry {
    hooks: UnsafeCell::new(Hooks {
        p_init: None,
        p_destroy: None,
        acquirep: None,
        find_runnable_gc_worker: None,
        gdestroy: None,
        copystack: None,
    }),
    listener: AtomicPtr::new(ptr::null_mut()),
    taken: AtomicBool::new(false),
};

/// Registers an embedder's hooks, once, before the runtime starts. Hooks that need a P switch
/// [detaching](crate::proc::set_detach) off.
///
/// # Panics
/// If hooks were registered before.
///
/// # Safety
/// The first call of [`run`](crate::run) comes after this. The hooks do as [`Hooks`] says, and keep
/// the scheduler's rules for the fields of the structs that they get: see
/// [`runtime2`](crate::runtime2).
pub unsafe fn set_hooks(hooks: Hooks) {
    // SAFETY: the caller keeps to what this function's doc asks for.
    let set = unsafe { try_set_hooks(hooks) };
    assert!(set, "gosched: hooks were registered already, and there can be one set");
}

/// [`set_hooks`], but returns false if hooks were registered before.
///
/// # Safety
/// As [`set_hooks`].
pub(crate) unsafe fn try_set_hooks(hooks: Hooks) -> bool {
    if REGISTRY.taken.swap(true, Ordering::Relaxed) {
        return false;
    }
    if hooks.acquirep.is_some() || hooks.find_runnable_gc_worker.is_some() || hooks.gdestroy.is_some() {
        set_detach(false);
    }
    // SAFETY: the caller says that the runtime hasn't started, so nothing reads them; and no second
    // call gets here.
    unsafe { *REGISTRY.hooks.get() = hooks };
    true
}

/// Returns the hooks in force.
#[inline(always)]
pub(in crate::runtime) fn hooks() -> &'static Hooks {
    // SAFETY: only the runtime calls this, and set_hooks writes them before it starts, as its
    // caller says.
    unsafe { &*REGISTRY.hooks.get() }
}

/// Returns the word that holds the listener to events, for `trace.rs`.
#[inline(always)]
pub(super) fn listener() -> &'static AtomicPtr<()> {
    &REGISTRY.listener
}

/// A function at an address.
#[derive(Clone, Copy, Debug, Default)]
pub struct CodePlace<'a> {
    /// Its name; empty if it isn't known.
    pub function: &'a str,
    /// The source file; empty if it isn't known.
    pub file: &'a str,
    /// The line in it; 0 if it isn't known.
    pub line: u32,
    /// Whether the function is one of the embedder's own. Reports leave these out, as they do the
    /// scheduler's, unless `GOTRACEBACK=system` asks for all.
    pub own: bool,
}

/// Passes the functions at an address to `found`, the innermost first where calls were inlined. If
/// it passes none, the program's own symbols are looked up. The address lies in an instruction; for
/// a caller, in the call instruction.
pub type Symbolizer = fn(pc: usize, found: &mut dyn FnMut(CodePlace<'_>));

static SYMBOLIZER: OnceLock<Symbolizer> = OnceLock::new();

/// Sets the function that names code, once and for all. The runtime calls it for each address that
/// a report, a trace or a profile shows. Go's `funcline`, in `symtab.go`, has tables that its
/// compiler makes.
///
/// `f` is called on g0 or on a thread that isn't ours, on several threads at once, and in the
/// report of a fatal error. So it takes no lock that a goroutine may hold, and doesn't allocate. It
/// must not panic.
///
/// # Errors
/// [`AlreadyExists`](io::ErrorKind::AlreadyExists): the function was set before.
pub fn set_symbolizer(f: Symbolizer) -> io::Result<()> {
    let taken = || {
        io::Error::new(io::ErrorKind::AlreadyExists, "there is a symbolizer already, and there can be one")
    };
    SYMBOLIZER.set(f).map_err(|_| taken())
}

/// Returns the function that names code, if one is set. It is called first: the program's own
/// symbols are looked up only if it passes none.
pub(in crate::runtime) fn symbolizer() -> Option<Symbolizer> {
    SYMBOLIZER.get().copied()
}
