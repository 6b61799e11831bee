//! The words of a goroutine that a conservative collector scans: Go's `scanstack`.
//!
//! Go's compiler keeps nothing in registers across a call, and notes for each word in a frame
//! whether it is a pointer. The compilers here do neither. So every place where a goroutine's code
//! may keep a value is scanned, word by word:
//!
//! ```text
//!     it waits, or is in a queue       its stack from sched.sp on, where mcall has saved its registers
//!     it was stopped at a check        likewise, saved by morestack; and its vector registers, in a block
//!     it was stopped anywhere          likewise, saved by asyncPreempt, below the red zone
//!     it is in a system call           its stack from syscallsp on; its registers are in the M
//!     it waits while it works on g0    its stack, where systemstack_scannable has saved its registers
//!     it hasn't begun                  its argument, and the closure in its slot
//!     it has ended                     the result in its slot
//! ```

use std::ops::Range;
use std::ptr;

use crate::runtime::arch::goexit_pc;
use crate::runtime::data::ext::StackKind;
use crate::runtime::data::runtime2::{G, GDEAD, GSCAN, GSYSCALL};
use crate::runtime::g::status::readgstatus;
use crate::runtime::g::sudog::waiting;
use crate::runtime::preempt::xregs;
use crate::runtime::sched::goexit::returned;

/// [`proc::scan_stack`](crate::proc::scan_stack). Does what Go's `scanstack` does for a frame
/// without maps.
pub(crate) fn scan_stack(gp: &G, mut f: impl FnMut(Range<usize>)) {
    let hi = gp.stack.get().hi;
    match readgstatus(gp) & !GSCAN {
        // Its stack holds nothing, and may be gone: it may be the stack of a foreign thread that
        // the G was lent to.
        GDEAD => {}
        GSYSCALL => {
            // Below syscallsp, code in the system call uses the stack, and keeps no pointers there.
            f(gp.syscallsp.get()..hi);
            if let Some(mp) = gp.m.get() {
                f(bytes_of(&mp.ext.syscall_regs));
            }
        }
        // Scanned from sched.sp even if syscallsp is set: a G that is just leaving a system call
        // has saved registers below syscallsp.
        _ => f(gp.sched.sp.get()..hi),
    }
    if gp.sched.pc.get() == goexit_pc() {
        // Before the G begins, its argument is here. Later the argument is where the function keeps
        // it.
        f(bytes_of(&gp.sched.ctxt));
        f(bytes_of(&gp.coroarg));
    }
    if holds_value(gp) {
        f(bytes_of(&gp.ext.slot));
    }
    // The value that the G is woken with, and the sudogs, whose pointers to values may be nowhere
    // else.
    f(bytes_of(&gp.param));
    waiting(gp).for_each(|sg| f(bytes_of(sg)));
    // A compiler may keep a general register's value in a vector register.
    if let Some((lo, hi)) = xregs::saved(gp) {
        f(lo..hi);
    }
}

/// Whether the slot of `gp` holds a closure or a result.
fn holds_value(gp: &G) -> bool {
    let hasnt_begun = gp.sched.pc.get() == goexit_pc() && gp.ext.kind.get() != StackKind::Copying;
    hasnt_begun || returned(gp)
}

/// Returns the addresses of the bytes of `place`.
fn bytes_of<T>(place: &T) -> Range<usize> {
    let lo = ptr::from_ref(place).expose_provenance();
    lo..lo + size_of::<T>()
}
