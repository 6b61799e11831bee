//! The frames of a goroutine that stands still, as addresses: what Go's `unwinder` finds.
//!
//! With `GODEBUG=tracebackancestors=N` a new goroutine keeps the frames of its ancestors, for
//! reports. Its ancestors are its maker, its maker's maker, and so on. Go's `saveAncestors`.

use std::ffi::{c_int, c_void};
use std::panic::Location;
use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::arch::{Regs, called_from, goexit_pc, systemstack};
use crate::runtime::base::debug::traceback_ancestors;
use crate::runtime::base::guarded::guarded;
use crate::runtime::data::runtime2::{G, GSCAN, GSYSCALL};

unsafe extern "C" {
    pub(in crate::runtime) fn _Unwind_Backtrace(trace: Trace, argument: *mut c_void) -> c_int;
    pub(in crate::runtime) fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetIPInfo(context: *mut c_void, before: *mut c_int) -> usize;
    pub(in crate::runtime) fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    fn _Unwind_FindEnclosingFunction(pc: *mut c_void) -> *mut c_void;
}

/// The function that an unwinder calls for each frame; it returns one of the two below.
type Trace = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
pub(in crate::runtime) const GO_ON: c_int = 0;
pub(in crate::runtime) const STOP: c_int = 4;

/// The maximum number of frames of a goroutine that are looked at. Go's `tracebackInnerFrames`.
pub(in crate::runtime) const INNER_FRAMES: usize = 100;

/// For each frame, an address in its current instruction; the innermost first.
pub(crate) struct Pcs {
    pcs: [usize; INNER_FRAMES],
    len: usize,
    /// Whether the walk was cut short, because the unwinder faulted or took too long.
    pub(in crate::runtime) failed: bool,
}

impl Pcs {
    pub(in crate::runtime) const NONE: Pcs = Pcs { pcs: [0; INNER_FRAMES], len: 0, failed: false };

    /// Returns one frame, at `pc`.
    pub(in crate::runtime) fn one(pc: usize) -> Pcs {
        let mut pcs = Pcs { len: 1, ..Pcs::NONE };
        pcs.pcs[0] = pc;
        pcs
    }

    pub(crate) fn as_slice(&self) -> &[usize] {
        &self.pcs[..self.len]
    }
}

/// Returns the registers of `gp`, which has left for g0, or isn't running.
pub(in crate::runtime) fn left_at(gp: &G) -> Regs {
    Regs::new(gp.sched.pc.get(), gp.sched.sp.get(), gp.sched.bp.get())
}

/// Returns the frames of `gp`, which stands still: it isn't running, or is in a system call.
///
/// # Safety
/// `gp` stands still until this returns, and its stack isn't freed.
pub(in crate::runtime) unsafe fn callers_of_still(gp: &G) -> Pcs {
    let regs = match gp.m.get().filter(|_| gp.atomicstatus.load(Ordering::Relaxed) & !GSCAN == GSYSCALL) {
        // The goroutine of a thread that isn't ours, which has no frames yet: needm has set this.
        Some(_) if gp.syscallpc.get() == 0 => return Pcs::NONE,
        // An unwinder looks up exactly this pc, so it must lie in the call: the return address less
        // one.
        Some(mp) => Regs::in_syscall(mp, gp.syscallpc.get() - 1, gp.syscallsp.get()),
        None => left_at(gp),
    };
    // SAFETY: `gp` left its stack with these registers. The stack stays as it is, as the caller
    // says; in a system call, the part above syscallsp does.
    unsafe { gcallers(gp, &regs) }
}

/// Returns the frames of `gp`, with these registers. In the report of a fatal error, these are as
/// many as the unwinder finds before it faults. Go's `gcallers`.
///
/// # Safety
/// The registers are those of a frame on a stack that stays as it is until this returns: of `gp`,
/// or a copy.
#[inline(never)]
pub(in crate::runtime) unsafe fn gcallers(gp: &G, regs: &Regs) -> Pcs {
    if regs.pc == goexit_pc() {
        // `gp` hasn't begun: it is at the first instruction of its function.
        return Pcs::one(gp.startpc.get());
    }
    // SAFETY: the caller says that the registers are those of a frame on a stack that stays as it
    // is.
    unsafe { callers_of(regs) }
}

/// Returns the frames of the code that has these registers, as many as the unwinder finds.
///
/// # Safety
/// The stack that the registers lead to stays as it is until this returns.
pub(in crate::runtime) unsafe fn callers_of(regs: &Regs) -> Pcs {
    let mut found = Pcs::NONE;
    let mut walk: Walk = (Some(regs.pc), &mut found);
    // SAFETY: an unwinder reads the stack that the registers lead to, which stays as it is, as the
    // caller says; `frame` gets the walk, and doesn't unwind.
    let walk = || unsafe { called_from(regs, || _ = _Unwind_Backtrace(frame, (&raw mut walk).cast())) };
    let whole = guarded(walk);
    found.failed = !whole;
    found
}

/// Returns the frames of the calling stack, as many as the unwinder finds.
pub(in crate::runtime) fn callers() -> Pcs {
    let mut found = Pcs::NONE;
    let mut walk: Walk = (None, &mut found);
    // SAFETY: `frame` gets the walk, and doesn't unwind.
    found.failed = !guarded(|| _ = unsafe { _Unwind_Backtrace(frame, (&raw mut walk).cast()) });
    found
}

/// The argument of [`frame`]: the pc of the first frame to note, or none to note all, and the
/// frames noted so far.
type Walk<'a> = (Option<usize>, &'a mut Pcs);

/// Notes a frame, if it is the goroutine's and not the walk's own. The goroutine's first frame is
/// at its pc.
unsafe extern "C" fn frame(context: *mut c_void, walk: *mut c_void) -> c_int {
    // SAFETY: the unwinder passes its context, and the walk of gcallers, which nobody else uses
    // meanwhile.
    let ((first, found), pc) = unsafe {
        let mut before = 0;
        let ip = _Unwind_GetIPInfo(context, &mut before);
        (&mut *walk.cast::<Walk>(), if before != 0 || ip == 0 { ip } else { ip - 1 })
    };
    if pc == 0 {
        return STOP;
    }
    // Some unwinders don't say that a frame was interrupted, so that its pc is no return address.
    let pc = first.filter(|first| found.len == 0 && pc + 1 == *first).unwrap_or(pc);
    if found.len > 0 || first.is_none_or(|first| first == pc) {
        found.pcs[found.len] = pc;
        found.len += 1;
    }
    if found.len == INNER_FRAMES { STOP } else { GO_ON }
}

/// Returns where the function that contains `pc` begins, if an unwinder knows it.
pub(in crate::runtime) fn entry(pc: usize) -> Option<usize> {
    // SAFETY: looks the address up in tables, and reads nothing there. It takes a return address:
    // pc + 1.
    let entry = unsafe { _Unwind_FindEnclosingFunction(std::ptr::without_provenance_mut(pc + 1)) };
    (!entry.is_null()).then(|| entry.addr())
}

/// The record of an ancestor. Go's `ancestorInfo`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::runtime) struct AncestorInfo {
    pub(in crate::runtime) pcs: Vec<usize>,
    pub(in crate::runtime) goid: u64,
    pub(in crate::runtime) gopc: usize,
    pub(in crate::runtime) created_at: Option<&'static Location<'static>>,
}

/// Keeps the ancestors of `newg`, if the setting asks for them: its maker and the maker's own
/// ancestors. They replace those of the goroutine that had the G before. Go's `saveAncestors`.
#[inline(always)]
pub(in crate::runtime) fn save_ancestors(callergp: Option<&'static G>, newg: &G) {
    if traceback_ancestors() > 0 {
        keep_ancestors(callergp, newg);
    }
}

#[cold]
#[inline(never)]
fn keep_ancestors(callergp: Option<&'static G>, newg: &G) {
    // An unwinder needs more room than a copying stack has. And the walk begins where the caller
    // left for g0.
    systemstack(|| {
        forget_ancestors(newg);
        newg.ancestors.set(callergp.map_or(ptr::null_mut(), ancestors_of_child).cast());
    });
}

/// Frees the ancestors of `gp`, which has ended. On g0, or on a thread's stack.
pub(super) fn forget_ancestors(gp: &G) {
    if traceback_ancestors() > 0 {
        let old = gp.ancestors.replace(ptr::null_mut()).cast::<Vec<AncestorInfo>>();
        if !old.is_null() {
            // SAFETY: `ancestors_of_child` made the box, and the only pointer to it was in the G.
            drop(unsafe { Box::from_raw(old) });
        }
    }
}

/// Returns the ancestors of a goroutine that `callergp` makes: `callergp`, and its own ancestors.
/// Called on g0.
fn ancestors_of_child(callergp: &G) -> *mut Vec<AncestorInfo> {
    // SAFETY: the thread of `callergp` is on g0, here, so the goroutine's stack stays as it left
    // it.
    let pcs = unsafe { gcallers(callergp, &left_at(callergp)) }.as_slice().to_vec();
    let maker = AncestorInfo {
        pcs,
        goid: callergp.goid.get(),
        gopc: callergp.gopc.get(),
        created_at: callergp.ext.created_at.get(),
    };
    let older = ancestors_of(callergp).iter().take(traceback_ancestors() - 1).cloned();
    Box::into_raw(Box::new(std::iter::once(maker).chain(older).collect()))
}

/// Returns the ancestors of `gp` that were kept.
pub(in crate::runtime) fn ancestors_of(gp: &G) -> &[AncestorInfo] {
    let ancestors = gp.ancestors.get().cast::<Vec<AncestorInfo>>();
    // Without the setting, the field is the embedder's.
    if traceback_ancestors() == 0 || ancestors.is_null() {
        return &[];
    }
    // SAFETY: `keep_ancestors` has put the box there, and it stays until the goroutine has ended.
    unsafe { &*ancestors }
}
