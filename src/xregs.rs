//! Where the vector registers of preempted goroutines are: Go 1.26's `preempt_xreg.go`.
//!
//! A goroutine that is preempted keeps all its registers. The general ones are on its stack, where
//! addresses among them are found. The vector registers take more room than a small stack has: 832
//! bytes with AVX, 2,696 with AVX-512, 11 KiB with AMX. They are saved on g0's stack, and moved from
//! there to a block that hangs on the G for as long as it isn't running.
//!
//! A block goes from G to G: who resumes puts it on the list of its P *before* it has read the
//! registers from it. That is in time, because only this M takes from that list, as long as it has
//! the P, and it takes nothing before the goroutine runs.

use std::alloc::{Layout, alloc};
use std::cell::Cell;
use std::ptr::{self, NonNull};

use crate::arch::{getg, systemstack, vector_size};
use crate::lock::{lock, unlock};
use crate::panic::throw;
use crate::runtime2::{G, Mutex, P, sched};
use crate::stack::LARGE_FRAMES;

/// In front of the saved registers, which xsave wants at a multiple of 64. Go's `xRegState`.
#[repr(C, align(64))]
pub struct XRegState {
    next: Cell<*mut XRegState>,
}

impl XRegState {
    /// The saved registers, [`vector_size`] bytes.
    fn regs(this: NonNull<XRegState>) -> NonNull<u8> {
        // SAFETY: the block is that much larger than this.
        unsafe { this.add(1) }.cast()
    }
}

/// Blocks that no G has. Go's `xRegPerP` has one.
#[repr(C)]
pub struct XRegList {
    first: Cell<*mut XRegState>,
    len: Cell<usize>,
}

impl XRegList {
    #[inline(always)]
    fn push(&self, state: NonNull<XRegState>) {
        // SAFETY: the link of a block that no G has is this list's.
        unsafe { state.as_ref() }.next.set(self.first.get());
        self.first.set(state.as_ptr());
        self.len.set(self.len.get() + 1);
    }

    fn pop(&self) -> Option<NonNull<XRegState>> {
        let state = NonNull::new(self.first.get())?;
        // SAFETY: as in push.
        self.first.set(unsafe { state.as_ref() }.next.get());
        self.len.set(self.len.get() - 1);
        Some(state)
    }
}

/// The blocks that no P has. Go's `xRegAlloc`.
#[repr(C)]
pub struct XRegPool {
    lock: Mutex,
    list: XRegList,
}

/// A P with more gives all but one to the others.
const LOCAL_MAX: usize = 8;

/// Moves the vector registers that were saved at `regs` to a block of the G's; false if there is no
/// memory for one. On g0, with `pp`. Go's `xRegSave`.
pub(crate) fn x_reg_save(pp: &P, gp: &G, regs: *const u8) -> bool {
    let Some(state) = pp.ext.x_regs.pop().or_else(take_central).or_else(new) else { return false };
    // SAFETY: both have that size. What xsave leaves out isn't initialised, and bytes it stays.
    unsafe { ptr::copy_nonoverlapping(regs, XRegState::regs(state).as_ptr(), vector_size()) };
    gp.ext.x_regs.set(state.as_ptr());
    true
}

fn take_central() -> Option<NonNull<XRegState>> {
    let central = &sched().ext.x_regs;
    lock(&central.lock);
    let state = central.list.pop();
    unlock(&central.lock);
    state
}

/// A block from the allocator. It is never given back: there are as many as were once in use.
fn new() -> Option<NonNull<XRegState>> {
    let layout = Layout::new::<XRegState>();
    let layout = Layout::from_size_align(layout.size() + vector_size(), layout.align()).ok()?;
    // SAFETY: the layout isn't empty.
    let state = NonNull::new(unsafe { alloc(layout) }.cast::<XRegState>())?;
    // SAFETY: just allocated.
    unsafe { state.write(XRegState { next: Cell::new(ptr::null_mut()) }) };
    Some(state)
}

/// What [`gosched_x_reg_restore`] may need of the goroutine's stack.
pub(crate) const RESTORE_STACK: usize = if LARGE_FRAMES { 2048 } else { 128 };

/// The running goroutine goes on where it was preempted: returns where its vector registers are, to
/// be read before it does anything else. Assembly calls this on the goroutine's stack. Go's
/// `xRegRestore`.
#[unsafe(no_mangle)]
extern "C" fn gosched_x_reg_restore() -> *mut u8 {
    let Some((gp, pp)) = running() else { throw("xRegRestore on no goroutine") };
    let Some(state) = NonNull::new(gp.ext.x_regs.replace(ptr::null_mut())) else {
        throw("xRegRestore: no registers")
    };
    gp.async_safe_point.set(false);
    pp.ext.x_regs.push(state);
    if pp.ext.x_regs.len.get() > LOCAL_MAX {
        // A goroutine's stack may have no room for what a lock needs.
        systemstack(|| spill(pp, 1));
    }
    XRegState::regs(state).as_ptr()
}

#[inline(always)]
fn running() -> Option<(&'static G, &'static P)> {
    let gp = getg()?;
    Some((gp, gp.m.get()?.p.get()?))
}

/// Moves the P's blocks to the common list, but for the `keep` that came last.
#[cold]
pub(crate) fn spill(pp: &P, keep: usize) {
    let kept = XRegList { first: Cell::new(ptr::null_mut()), len: Cell::new(0) };
    let local = &pp.ext.x_regs;
    let central = &sched().ext.x_regs;
    while kept.len.get() < keep
        && let Some(state) = local.pop()
    {
        kept.push(state);
    }
    lock(&central.lock);
    while let Some(state) = local.pop() {
        central.list.push(state);
    }
    unlock(&central.lock);
    while let Some(state) = kept.pop() {
        local.push(state);
    }
}

/// The addresses of the saved vector registers of `gp`; none if it hasn't been preempted.
pub(crate) fn saved(gp: &G) -> Option<(usize, usize)> {
    let state = NonNull::new(gp.ext.x_regs.get())?;
    let lo = XRegState::regs(state).as_ptr().expose_provenance();
    Some((lo, lo + vector_size()))
}
