//! Shrinking a stack that a goroutine no longer needs: Go's `shrinkstack`.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::arch::{getg, morestack_preempted_pc};
use crate::runtime::base::debug::gc_shrink_stack_off;
use crate::runtime::base::fatal::throw;
use crate::runtime::data::ext::StackKind;
use crate::runtime::data::runtime2::{G, GRUNNING, GSCAN};
use crate::runtime::g::status::readgstatus;
use crate::runtime::mem::sizes::STACK_GUARD;
use crate::runtime::stack::copystack::{copystack, size_for};
use crate::runtime::stack::frame_map::{frames_known, parked_frame};

/// Whether the stack of `gp` can be moved to a smaller one now. Go's `isShrinkStackSafe`. It can't:
///
/// - in a system call, because the kernel may have addresses of the stack;
/// - while the goroutine waits and keeps its M, because it works on g0, where it may keep addresses
///   of its stack;
/// - at an asynchronous safe point, where such addresses are in registers;
/// - while it stands at a check, which has ensured room for its function, and doesn't check again
///   when the goroutine goes on (Go's prologue does);
/// - while it is about to park on a channel: it has sudogs, but active_stack_chans isn't set yet;
/// - if there are frame maps and some of its frames can't be found, because frames with maps must
///   not be adjusted by guessing.
fn is_shrink_stack_safe(gp: &G) -> bool {
    gp.syscallsp.get() == 0
        && (readgstatus(gp) & !GSCAN == GRUNNING || gp.m.is_null())
        && !gp.async_safe_point.get()
        && !stands_at_check(gp)
        && !gp.parking_on_chan.load(Ordering::Acquire)
        && frames_known(gp, parked_frame(gp))
}

/// Whether `gp` was stopped at a check. A goroutine that runs is there only on its way through
/// `newstack`, which makes room after this.
fn stands_at_check(gp: &G) -> bool {
    readgstatus(gp) != GRUNNING && gp.sched.pc.get() == morestack_preempted_pc()
}

/// Halves the stack of `gp`, if it uses less than a quarter. Go's `shrinkstack`.
pub(crate) fn shrinkstack(gp: &'static G) {
    let stack = gp.stack.get();
    if stack.lo == 0 {
        throw("missing stack in shrinkstack");
    }
    if readgstatus(gp) & GSCAN == 0 {
        // Without the scan bit, it must be the goroutine that this M has just left for g0, and goes
        // on with.
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
    copystack(gp, newsize, parked_frame(gp));
}
