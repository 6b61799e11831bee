//! Where the vector registers of preempted goroutines are: Go 1.26's `preempt_xreg.go`.
//!
//! A goroutine that is preempted keeps all its registers. The general registers are on its stack,
//! where a search for addresses finds them. The vector registers take more room than a small stack
//! has: 832 bytes with AVX, 2,696 with AVX-512, 11 KiB with AMX. They are saved on g0's stack, and
//! moved from there to a block that belongs to the G while it isn't running.
//!
//! A block goes from G to G. A goroutine that resumes puts its block on the list of its P *before*
//! it has read the registers from the block. This is safe: as long as the M has the P, only this M
//! takes from that list, and it takes nothing before the goroutine runs. And the M doesn't lose the
//! P before the registers are read: until then `x_regs` isn't null (assembly clears it), and a
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
        // SAFETY: the block has room for the registers behind this.
        unsafe { this.add(1) }.cast()
    }
}

/// A P with this many blocks gives half of them to the shared list; a P with none takes half as
/// many from it.
const LOCAL_MAX: usize = 8;

/// Go keeps the blocks that no G has in `xRegPerP`, which has room for one, and in `xRegAlloc`.
impl Linked for XRegState {
    unsafe fn next<'a>(this: NonNull<Self>) -> &'a Cell<*mut c_void> {
        // SAFETY: `new` made the block, and it is never freed.
        unsafe { &(*this.as_ptr()).next }
    }
}

/// Moves the vector registers that were saved at `regs` to a block of `gp`; false if there is no
/// memory for a block. Called on g0, with the M's P, if it has one. Go's `xRegSave`.
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

/// Allocates a block. Blocks are never freed, so there are as many as were once in use.
fn new() -> Option<NonNull<XRegState>> {
    let layout = Layout::new::<XRegState>();
    let layout = Layout::from_size_align(layout.size() + vector_size(), layout.align()).ok()?;
    // SAFETY: the layout isn't empty.
    let state = NonNull::new(unsafe { alloc(layout) }.cast::<XRegState>())?;
    // SAFETY: just allocated.
    unsafe { state.write(XRegState { next: Cell::new(ptr::null_mut()) }) };
    Some(state)
}

/// The room on the goroutine's stack that [`gosched_x_reg_restore`] may need.
pub(in crate::runtime) const RESTORE_STACK: usize = if LARGE_FRAMES { 2048 } else { 128 };

/// Returns the address of the vector registers of the running goroutine, which goes on where it was
/// preempted, and reads them before it does anything else. Assembly calls this on the goroutine's
/// stack. Go's `xRegRestore`.
#[unsafe(no_mangle)]
extern "C" fn gosched_x_reg_restore() -> *mut u8 {
    let Some((gp, pp)) = running() else { throw("xRegRestore on no goroutine") };
    let Some(state) = NonNull::new(gp.ext.x_regs.get()) else { throw("xRegRestore: no registers") };
    gp.async_safe_point.set(false);
    let local = &pp.ext.x_regs;
    if local.len() == LOCAL_MAX {
        // A goroutine's stack may have no room for taking a lock.
        systemstack(|| sched().ext.x_regs.spill(local, LOCAL_MAX / 2));
    }
    // Pushed after the spill: no other M may get the block before its registers are read.
    local.push(state);
    XRegState::regs(state).as_ptr()
}

#[inline(always)]
fn running() -> Option<(&'static G, &'static P)> {
    let gp = getg()?;
    // The M keeps its P until the registers are read.
    Some((gp, gp.m.get()?.p.peek()?))
}

/// Adjusts the addresses of a moved stack among the registers at `regs`, which were saved at a
/// check. A processor may save general registers with the vector registers.
///
/// # Safety
/// The registers are at `regs`, and no other thread uses them.
pub(in crate::runtime) unsafe fn adjust_saved(regs: *mut u8, adjinfo: &AdjustInfo) {
    // SAFETY: the caller says that the registers are at `regs`, and that no other thread uses them.
    unsafe { each_saved_general(regs, |word| *word = adjinfo.moved(*word)) }
}

/// Returns the range of addresses of the saved vector registers of `gp`, or none if it wasn't
/// preempted.
pub(in crate::runtime) fn saved(gp: &G) -> Option<(usize, usize)> {
    let state = NonNull::new(gp.ext.x_regs.get())?;
    let lo = XRegState::regs(state).as_ptr().expose_provenance();
    Some((lo, lo + vector_size()))
}
