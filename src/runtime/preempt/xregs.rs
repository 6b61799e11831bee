//! Where the vector registers of preempted goroutines are: Go 1.26's `preempt_xreg.go`.
//!
//! A goroutine that is preempted keeps all its registers. The general ones are on its stack, where
//! addresses among them are found. The vector registers take more room than a small stack has: 832
//! bytes with AVX, 2,696 with AVX-512, 11 KiB with AMX. They are saved on g0's stack, and moved
//! from there to a block that hangs on the G for as long as it isn't running.
//!
//! A block goes from G to G. The goroutine that resumes puts its block on the list of its P
//! *before* it has read the registers from it. That is in time: only this M takes from that list,
//! as long as it has the P, and it takes nothing before the goroutine runs. The M doesn't lose the
//! P before, either: `x_regs` isn't null until the registers are read and assembly clears it, and a
//! signal handler lets such a goroutine go on.

use std::alloc::{Layout, alloc};
use std::ffi::c_void;
use std::ptr::{self, NonNull};

use crate::runtime::arch::{each_saved_general, getg, systemstack, vector_size};
use crate::runtime::base::fatal::throw;
use crate::runtime::data::adjust_info::AdjustInfo;
use crate::runtime::data::cell::Cell;
use crate::runtime::data::ext::XRegState;
use crate::runtime::data::runtime2::{G, P, sched};
use crate::runtime::mem::cache::{Cache, List};
use crate::runtime::mem::pool::Linked;
use crate::runtime::mem::sizes::LARGE_FRAMES;

impl XRegState {
    /// The saved registers, [`vector_size`] bytes.
    fn regs(this: NonNull<XRegState>) -> NonNull<u8> {
        // SAFETY: the block is that much larger than this.
        unsafe { this.add(1) }.cast()
    }
}

/// A P with this many gives half of them to the others; a P with none takes half as many.
const LOCAL_MAX: usize = 8;

/// Blocks that no G has are in Go's `xRegPerP`, which has one, and its `xRegAlloc`.
impl Linked for XRegState {
    unsafe fn next<'a>(this: NonNull<Self>) -> &'a Cell<*mut c_void> {
        // SAFETY: `new` made the block, and it is never freed.
        unsafe { &(*this.as_ptr()).next }
    }
}

/// Moves the vector registers that were saved at `regs` to a block of the G's; false if there is no
/// memory for one. On g0, with `pp`, if it has one. Go's `xRegSave`.
pub(in crate::runtime) fn x_reg_save(pp: Option<&'static P>, gp: &G, regs: *const u8) -> bool {
    let common = &sched().ext.x_regs;
    let kept = match pp.map(|pp| &pp.ext.x_regs) {
        Some(local) => local.pop().or_else(|| common.refill(local, LOCAL_MAX / 2)),
        None => common.take(),
    };
    let Some(state) = kept.or_else(new) else { return false };
    // SAFETY: both have that size. The bytes that xsave leaves out aren't initialised, and are
    // copied as bytes.
    unsafe { ptr::copy_nonoverlapping(regs, XRegState::regs(state).as_ptr(), vector_size()) };
    gp.ext.x_regs.set(state.as_ptr());
    true
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
pub(in crate::runtime) const RESTORE_STACK: usize = if LARGE_FRAMES { 2048 } else { 128 };

/// The running goroutine goes on where it was preempted. Returns the address of its vector
/// registers, which it reads before it does anything else. Assembly calls this on the goroutine's
/// stack. Go's `xRegRestore`.
#[unsafe(no_mangle)]
extern "C" fn gosched_x_reg_restore() -> *mut u8 {
    let Some((gp, pp)) = running() else { throw("xRegRestore on no goroutine") };
    let Some(state) = NonNull::new(gp.ext.x_regs.get()) else { throw("xRegRestore: no registers") };
    gp.async_safe_point.set(false);
    let local = &pp.ext.x_regs;
    if local.len() == LOCAL_MAX {
        // A goroutine's stack may have no room for what a lock needs.
        systemstack(|| sched().ext.x_regs.spill(local, LOCAL_MAX / 2));
    }
    // After the spill: nobody else may have the block before its registers are read.
    local.push(state);
    XRegState::regs(state).as_ptr()
}

#[inline(always)]
fn running() -> Option<(&'static G, &'static P)> {
    let gp = getg()?;
    // The P is there until the registers are read.
    Some((gp, gp.m.get()?.p.peek()?))
}

/// Adjusts the addresses of a stack among the registers at `regs`, which were saved at a check: a
/// processor may save general registers with the vector registers.
///
/// # Safety
/// They are there, and the caller's alone.
pub(in crate::runtime) unsafe fn adjust_saved(regs: *mut u8, adjinfo: &AdjustInfo) {
    // SAFETY: the caller's.
    unsafe { each_saved_general(regs, |word| *word = adjinfo.moved(*word)) }
}

/// The addresses of the saved vector registers of `gp`; none if it hasn't been preempted.
pub(in crate::runtime) fn saved(gp: &G) -> Option<(usize, usize)> {
    let state = NonNull::new(gp.ext.x_regs.get())?;
    let lo = XRegState::regs(state).as_ptr().expose_provenance();
    Some((lo, lo + vector_size()))
}
