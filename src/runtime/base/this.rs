//! This thread's M, P and goroutine: Go's `acquirem` and `releasem`. And whether there is room on
//! the stack, or a runtime at all.

use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};

use crate::runtime::arch::{getg, systemstack};
use crate::runtime::base::fatal::throw;
use crate::runtime::data::ext::StackKind;
use crate::runtime::data::runtime2::{G, M, P};

pub(in crate::runtime) static STARTED: AtomicBool = AtomicBool::new(false);

/// Whether the runtime has started.
#[inline]
pub(crate) fn started() -> bool {
    // Acquire pairs with rt0_go: the caller sees what schedinit set up.
    STARTED.load(Ordering::Acquire)
}

/// Returns this thread's M; none on a thread that isn't ours.
#[inline(always)]
pub(crate) fn this_m() -> Option<&'static M> {
    getg().and_then(|gp| gp.m.get())
}

/// Returns the goroutine that this thread runs, also while the thread is on g0 for that goroutine;
/// none if there is none. Go's `getg().m.curg`.
#[inline(always)]
pub(crate) fn curg() -> Option<&'static G> {
    this_m().and_then(|mp| mp.curg.get())
}

/// Returns this thread's M. Throws on a thread that isn't ours.
#[inline(always)]
pub(in crate::runtime) fn getm() -> &'static M {
    match this_m() {
        Some(mp) => mp,
        None => throw("no m on this thread"),
    }
}

/// Returns the P of this thread's M; none if the M has no P, and on a thread that isn't ours.
/// Called only where [`M::p`] may be called.
#[inline(always)]
pub(in crate::runtime) fn this_p() -> Option<&'static P> {
    this_m().and_then(|mp| mp.p())
}

impl M {
    /// Whether `gp` is the goroutine that this M runs, and not its g0.
    #[inline(always)]
    pub(in crate::runtime) fn runs(&self, gp: &G) -> bool {
        self.curg.get().is_some_and(|curg| ptr::eq(curg, gp))
    }

    /// Returns the P of this M, which is this thread's. Called where the M keeps its P: on g0, or
    /// while `locks` isn't 0. Elsewhere a signal may take the P at any instruction
    /// (`sched/detach.rs`), and debug builds throw.
    #[inline(always)]
    pub(in crate::runtime) fn p(&self) -> Option<&'static P> {
        if cfg!(debug_assertions) && self.locks.get() == 0 {
            self.check_that_p_stays();
        }
        self.p.peek()
    }

    #[inline(never)]
    fn check_that_p_stays(&self) {
        let may_lose_it = self.preemptoff.get().is_null() && !self.p.is_null() && !self.isextra.get();
        if may_lose_it && getg().is_some_and(|gp| self.runs(gp)) {
            throw("m.p read by a goroutine that may lose it");
        }
    }
}

/// While this lives, this thread's M keeps the P that it has, if it has one.
pub(in crate::runtime) struct Held(&'static M);

/// Keeps the P of `mp`, this thread's M, on that M.
#[inline(always)]
pub(in crate::runtime) fn hold_p(mp: &'static M) -> Held {
    mp.locks.set(mp.locks.get() + 1);
    // The count must be visible to the signal handler on this thread that takes a P before anything
    // is read under it.
    compiler_fence(Ordering::SeqCst);
    Held(mp)
}

/// Recovers a [`hold_p`] of `mp` that was forgotten, so that it can be dropped.
#[inline(always)]
pub(in crate::runtime) fn held(mp: &'static M) -> Held {
    Held(mp)
}

impl Held {
    /// Returns the P.
    #[inline(always)]
    pub(in crate::runtime) fn p(&self) -> Option<&'static P> {
        self.0.p()
    }
}

impl Drop for Held {
    #[inline(always)]
    fn drop(&mut self) {
        // All uses of the P come before the M may lose it.
        compiler_fence(Ordering::SeqCst);
        self.0.locks.set(self.0.locks.get() - 1);
    }
}

/// Keeps the caller on its M, and the M on its P, until [`releasem`]; none on a thread
/// that isn't ours. Go's `acquirem`.
#[inline(always)]
pub(crate) fn acquirem() -> Option<&'static M> {
    let mp = this_m()?;
    mem::forget(hold_p(mp));
    Some(mp)
}

/// Undoes [`acquirem`]. Go's `releasem`.
#[inline(always)]
pub(crate) fn releasem(mp: Option<&'static M>) {
    drop(mp.map(held));
}

/// Returns the running goroutine and its M. Throws where no goroutine can park: on g0, and on a
/// thread that isn't ours.
#[inline(always)]
pub(crate) fn goroutine() -> (&'static G, &'static M) {
    let Some(gp) = getg() else { throw("park on a thread that isn't a goroutine's") };
    match gp.m.get() {
        Some(mp) if !ptr::eq(gp, &mp.ext.g0) => (gp, mp),
        _ => throw("park on g0: only a goroutine can"),
    }
}

/// Whether the caller could park: it is on a goroutine, not on g0, in a system call, or on a
/// foreign thread.
pub(crate) fn on_goroutine() -> bool {
    matches!(whoami(), (Some(_), _))
}

/// Whether this thread's goroutine is in a system call, or in code that counts as one.
pub(crate) fn in_system_call() -> bool {
    curg().is_some_and(|curg| curg.syscallsp.get() != 0)
}

/// Returns the running goroutine, if the caller could park, and the thread's M, if there is one. On
/// g0, on a foreign thread and in a system call there is no such goroutine.
#[inline(always)]
pub(crate) fn whoami() -> (Option<&'static G>, Option<&'static M>) {
    let gp = getg();
    let mp = gp.and_then(|gp| gp.m.get());
    (gp.filter(|gp| mp.is_some_and(|mp| !ptr::eq(*gp, &mp.ext.g0) && gp.syscallsp.get() == 0)), mp)
}

/// Whether any code of the program's may be called here: on a goroutine's stack with room for it,
/// or on a thread that isn't ours. No such code may be called while a lock of the runtime's is
/// held.
pub(crate) fn any_code_may_run() -> bool {
    let of_the_program = |gp: &G| gp.ext.kind.get() != StackKind::Copying && !gp.ext.system.get();
    match whoami() {
        (Some(gp), mp) => of_the_program(gp) && mp.is_some_and(|mp| mp.locks.get() == 0),
        (None, mp) => mp.is_none(),
    }
}

/// Calls `f` where there is room for an allocator, or for other code that is written for threads:
/// on g0, if the caller is on a copying stack.
#[inline(always)]
pub(crate) fn with_room<R>(f: impl FnOnce() -> R) -> R {
    if getg().is_some_and(|gp| gp.ext.kind.get() == StackKind::Copying) { systemstack(f) } else { f() }
}
