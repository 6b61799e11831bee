//! Whether a goroutine may be stopped where it is: Go's `canPreemptM`, `wantAsyncPreempt`,
//! `isAsyncSafePoint`.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::arch::{ASYNC_PREEMPT_FRAME, RED_ZONE, SP_ALIGN, vectors_fit};
use crate::runtime::data::runtime2::{G, GRUNNING, GSCAN, M, PRUNNING};
use crate::runtime::g::explored::keeps_p;
use crate::runtime::g::status::readgstatus;
use crate::runtime::preempt::preemptible;
use crate::runtime::preempt::xregs::RESTORE_STACK;

/// How many bytes of the goroutine's stack must be free for an asynchronous preemption. Go's
/// `asyncPreemptStack`.
const ASYNC_PREEMPT_STACK: usize = RED_ZONE + ASYNC_PREEMPT_FRAME + RESTORE_STACK;

/// Whether the goroutine of `mp` may be preempted now. Go's `canPreemptM`.
pub(in crate::runtime) fn can_preempt_m(mp: &M) -> bool {
    mp.locks.get() == 0
        && mp.mallocing.get() == 0
        && mp.preemptoff.get().is_null()
        && mp.p.peek().map_or_else(
            || mp.ext.detached_since.load(Ordering::Relaxed) != 0,
            |pp| pp.status.load(Ordering::Relaxed) == PRUNNING,
        )
}

/// Whether somebody wants `gp`, which runs on `mp`, to stop. Go's `wantAsyncPreempt`.
pub(in crate::runtime) fn want_async_preempt(mp: &M, gp: &G) -> bool {
    (gp.preempt.load(Ordering::Relaxed) || mp.p.peek().is_some_and(|pp| pp.preempt.load(Ordering::Relaxed)))
        && readgstatus(gp) & !GSCAN == GRUNNING
        && !keeps_p(gp)
}

/// Whether `gp`, which the thread of `mp` ran when a signal came, may be stopped where it is: no
/// lock is held, its stack has room for its registers, and its code is preemptible. In a signal
/// handler. Go's `isAsyncSafePoint`.
pub(in crate::runtime) fn is_async_safe_point(mp: &M, gp: &G, pc: usize, sp: usize) -> bool {
    let stack = gp.stack.get();
    mp.curg.get().is_some_and(|curg| ptr::eq(curg, gp))
        && can_preempt_m(mp)
        // The stack pointer is in another stack if a handler of the program's has interrupted the
        // goroutine.
        && sp >= stack.lo + ASYNC_PREEMPT_STACK
        && sp < stack.hi
        && sp.is_multiple_of(SP_ALIGN)
        && vectors_fit()
        && preemptible::contains(pc)
}
