//! What a collector looks at that takes each word for a pointer.

use std::ops::Range;
use std::ptr;

use crate::runtime2::G;
use crate::stack::side::each_side_block;
use crate::xregs;

/// Calls `f` with each range of addresses in which `gp`, which isn't running, keeps what its code has
/// on its stack and in registers. What Go's `scanstack` does for a frame without maps.
pub(crate) fn scan_stack(gp: &G, mut f: impl FnMut(Range<usize>)) {
    // In a system call its stack is in use below that, but by no code that keeps pointers.
    let sp = match gp.syscallsp.get() {
        0 => gp.sched.sp.get(),
        syscallsp => syscallsp,
    };
    f(sp..gp.stack.get().hi);
    // The compiler may have general registers in vector ones.
    if let Some((lo, hi)) = xregs::saved(gp) {
        f(lo..hi);
    }
    each_side_block(gp, |lo, hi| f(lo..hi));
    // The argument of one that hasn't begun.
    let ctxt = ptr::from_ref(&gp.sched.ctxt).expose_provenance();
    f(ctxt..ctxt + size_of::<usize>());
}
