//! The frames of a goroutine that stands still, as addresses: what Go's `unwinder` finds.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

use crate::arch::{Regs, called_from, goexit_pc};
use crate::runtime2::{G, GSCAN, GSYSCALL};

unsafe extern "C" {
    pub(super) fn _Unwind_Backtrace(trace: Trace, argument: *mut c_void) -> c_int;
    pub(super) fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetIPInfo(context: *mut c_void, before: *mut c_int) -> usize;
    pub(super) fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    fn _Unwind_FindEnclosingFunction(pc: *mut c_void) -> *mut c_void;
}

/// What an unwinder calls for each frame, and what that returns.
pub(super) type Trace = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
pub(super) const GO_ON: c_int = 0;
pub(super) const STOP: c_int = 4;

/// So many frames are looked at, at most. Go's `tracebackInnerFrames`.
pub(crate) const INNER_FRAMES: usize = 100;

/// An address in each frame's current instruction, from the innermost on.
pub(crate) struct Pcs {
    pcs: [usize; INNER_FRAMES],
    len: usize,
}

impl Pcs {
    pub(crate) const NONE: Pcs = Pcs { pcs: [0; INNER_FRAMES], len: 0 };

    pub(crate) fn as_slice(&self) -> &[usize] {
        &self.pcs[..self.len]
    }
}

/// Where `gp` goes on that has left for g0, or isn't running.
pub(crate) fn left_at(gp: &G) -> Regs {
    Regs::new(gp.sched.pc.get(), gp.sched.sp.get(), gp.sched.bp.get())
}

/// The frames of `gp`, which stands still: it isn't running, or is in a system call.
///
/// # Safety
/// It stays so meanwhile.
pub(crate) unsafe fn callers_of_still(gp: &G) -> Pcs {
    let regs = match gp.m.get().filter(|_| gp.atomicstatus.load(Ordering::Relaxed) & !GSCAN == GSYSCALL) {
        // A thread that isn't ours is becoming a goroutine, which has no frames yet.
        Some(_) if gp.syscallpc.get() == 0 => return Pcs::NONE,
        // Of a call's return address, an unwinder looks at the instruction before.
        Some(mp) => Regs::in_syscall(mp, gp.syscallpc.get() - 1, gp.syscallsp.get()),
        None => left_at(gp),
    };
    // SAFETY: the caller's.
    unsafe { gcallers(gp, &regs) }
}

/// The frames of `gp`, whose registers are these. Go's `gcallers`.
///
/// # Safety
/// The registers lead to a stack, which stays as it is meanwhile.
pub(crate) unsafe fn gcallers(gp: &G, regs: &Regs) -> Pcs {
    let mut found = Pcs::NONE;
    if regs.pc == goexit_pc() {
        // It hasn't begun: it is at the first instruction of its function.
        found.pcs[0] = gp.startpc.get();
        found.len = 1;
        return found;
    }
    let mut walk = (regs.pc, &mut found);
    // SAFETY: the caller's; `frame` gets what it expects.
    unsafe { called_from(regs, || _ = _Unwind_Backtrace(frame, (&raw mut walk).cast())) };
    found
}

/// Notes a frame, if it is one of the goroutine's: the first of them is where its pc is.
unsafe extern "C" fn frame(context: *mut c_void, walk: *mut c_void) -> c_int {
    // SAFETY: the unwinder's context, and gcallers' walk.
    let ((first, found), pc) = unsafe {
        let mut before = 0;
        let ip = _Unwind_GetIPInfo(context, &mut before);
        (&mut *walk.cast::<(usize, &mut Pcs)>(), if before != 0 || ip == 0 { ip } else { ip - 1 })
    };
    if pc == 0 {
        return STOP;
    }
    // Some unwinders don't say which frames were interrupted.
    let pc = if found.len == 0 && pc + 1 == *first { *first } else { pc };
    if found.len > 0 || pc == *first {
        found.pcs[found.len] = pc;
        found.len += 1;
    }
    if found.len == INNER_FRAMES { STOP } else { GO_ON }
}

/// Where the function begins that has `pc` in it, if an unwinder knows it.
pub(crate) fn entry(pc: usize) -> Option<usize> {
    // SAFETY: looks in tables. It takes a return address.
    let entry = unsafe { _Unwind_FindEnclosingFunction(std::ptr::without_provenance_mut(pc + 1)) };
    (!entry.is_null()).then(|| entry.addr())
}
