//! Making a stack smaller that a goroutine has once needed and no longer does.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::arch::getg;
use crate::debug::gc_shrink_stack_off;
use crate::panic::throw;
use crate::proc::status::readgstatus;
use crate::runtime2::{G, GRUNNING, GSCAN, StackKind};
use crate::stack::STACK_GUARD;
use crate::stack::copystack::{copystack, size_for};
use crate::stack::frame_map::{frames_known, parked_frame};
use crate::stack::side::free_side_blocks;

/// Whether the stack of `gp` could be moved to a smaller one now. Go's `isShrinkStackSafe`.
///
/// Not in a system call, which may have addresses of it; not while it waits for what it does itself on
/// g0, where it keeps its M, and some; not at an asynchronous safe point, where
/// some are in registers; not while it is about to park on a channel, when its sudogs are there
/// and nobody has said so; and not if there are frame maps and its frames can't all be found: what
/// is exact when the stack grows must not be guessed here.
fn is_shrink_stack_safe(gp: &G) -> bool {
    gp.syscallsp.get() == 0
        && (readgstatus(gp) & !GSCAN == GRUNNING || gp.m.is_null())
        && !gp.async_safe_point.get()
        && !gp.parking_on_chan.load(Ordering::Acquire)
        && frames_known(gp, parked_frame(gp))
}

/// Halves the stack of `gp`, if it uses less than a quarter. Go's `shrinkstack`.
pub(crate) fn shrinkstack(gp: &'static G) {
    let stack = gp.stack.get();
    if stack.lo == 0 {
        throw("missing stack in shrinkstack");
    }
    if readgstatus(gp) & GSCAN == 0 {
        // It may be the goroutine that this M has just left, and will go on with.
        let me = getg();
        let mp = me.and_then(|me| me.m.get());
        let own = mp.and_then(|mp| mp.curg.get()).is_some_and(|curg| ptr::eq(curg, gp));
        if !own || me.is_some_and(|me| ptr::eq(me, gp)) || readgstatus(gp) != GRUNNING {
            throw("bad status in shrinkstack");
        }
    }
    if gp.ext.kind.get() != StackKind::Copying || gc_shrink_stack_off() || !is_shrink_stack_safe(gp) {
        return;
    }
    let oldsize = stack.hi - stack.lo;
    let newsize = size_for(gp, oldsize / 2);
    let used = stack.hi - gp.sched.sp.get() + STACK_GUARD;
    if newsize >= oldsize || used >= oldsize / 4 {
        return;
    }
    free_side_blocks(gp, gp.sched.sp.get());
    copystack(gp, newsize, parked_frame(gp));
}
