//! What a collector looks at that takes each word for a pointer.
//!
//! Go's compiler keeps nothing in registers across a call, and tells of each word in a frame whether it is
//! a pointer. Here neither is so. So all that a goroutine's code may have a value in is scanned, word by
//! word:
//!
//! ```text
//!     it waits, or is in a queue       its stack from sched.sp on, where mcall has saved its registers
//!     it was stopped at a check        likewise, and morestack has; the vector registers are elsewhere
//!     it was stopped anywhere          likewise, and asyncPreempt has, below the red zone
//!     it is in a system call           its stack from syscallsp on; its registers are in the M
//!     it waits while it works on g0    its stack, where systemstack_scannable has saved its registers
//!     it hasn't begun                  its argument, and the closure in its slot
//!     it has ended                     the result in its slot
//! ```

use std::ops::Range;
use std::ptr;

use crate::arch::goexit_pc;
use crate::proc::join::ended;
use crate::proc::status::readgstatus;
use crate::runtime2::{G, GDEAD, GSCAN, GSYSCALL, StackKind};
use crate::stack::copystack::waiting;
use crate::stack::side::each_side_block;
use crate::xregs;

/// Calls `f` with each range of addresses in which `gp`, which isn't running, keeps what its code has
/// on its stack and in registers, and what it begins or ends with. What Go's `scanstack` does for a
/// frame without maps.
pub(crate) fn scan_stack(gp: &G, mut f: impl FnMut(Range<usize>)) {
    let hi = gp.stack.get().hi;
    match readgstatus(gp) & !GSCAN {
        // Its stack is nobody's, and may be gone: that of a thread which was a guest.
        GDEAD => {}
        GSYSCALL => {
            // Below that it is in use, but by no code that keeps pointers.
            f(gp.syscallsp.get()..hi);
            if let Some(mp) = gp.m.get() {
                f(bytes_of(&mp.ext.syscall_regs));
            }
        }
        // Maybe just out of a system call, with registers below syscallsp.
        _ => f(gp.sched.sp.get()..hi),
    }
    if gp.sched.pc.get() == goexit_pc() {
        // It hasn't begun. From then on the argument is where its function keeps it.
        f(bytes_of(&gp.sched.ctxt));
        f(bytes_of(&gp.coroarg));
    }
    if holds_value(gp) {
        f(bytes_of(&gp.ext.slot));
    }
    // What it was woken with, and what it waits for: a value's place may be nowhere else by now.
    f(bytes_of(&gp.param));
    waiting(gp).for_each(|sg| f(bytes_of(sg)));
    // The compiler may have general registers in vector ones.
    if let Some((lo, hi)) = xregs::saved(gp) {
        f(lo..hi);
    }
    each_side_block(gp, |lo, hi| f(lo..hi));
}

/// Whether there is a closure in its slot, or a result.
fn holds_value(gp: &G) -> bool {
    let hasnt_begun = gp.sched.pc.get() == goexit_pc() && gp.ext.kind.get() != StackKind::Copying;
    hasnt_begun || ended(gp)
}

/// Where something is.
fn bytes_of<T>(place: &T) -> Range<usize> {
    let lo = ptr::from_ref(place).expose_provenance();
    lo..lo + size_of::<T>()
}
