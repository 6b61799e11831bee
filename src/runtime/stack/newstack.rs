//! What happens when a check has failed: the Rust half of `morestack.S`. Go's `newstack`.

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::runtime::base::fatal::{overflow, throw};
use crate::runtime::base::print::eprintln;
use crate::runtime::base::this::getm;
use crate::runtime::data::adjust_info::AdjustInfo;
use crate::runtime::data::ext::StackKind;
use crate::runtime::data::runtime2::{G, GCOPYSTACK, GRUNNING};
use crate::runtime::g::callers::left_at;
use crate::runtime::g::explored::keeps_p;
use crate::runtime::g::status::casgstatus;
use crate::runtime::mem::sizes::{STACK_GUARD, STACK_PREEMPT, running_guard};
use crate::runtime::preempt::preemptible::can_preempt_m;
use crate::runtime::preempt::xregs::{RESTORE_STACK, adjust_saved};
use crate::runtime::sched::park::{Leave, stop_here};
use crate::runtime::stack::copystack::{copystack, size_for};
use crate::runtime::stack::frame_map::Frame;
use crate::runtime::stack::shrink::shrinkstack;

/// The maximum size of a stack in bytes. Go's `maxstacksize`.
static MAXSTACKSIZE: AtomicUsize = AtomicUsize::new(1 << 30);

/// Sets the maximum size of a stack, and returns the former one. Go's `debug.SetMaxStack`.
pub(crate) fn set_max_stack(bytes: usize) -> usize {
    MAXSTACKSIZE.swap(bytes, Ordering::Relaxed)
}

/// Returns the least power of two that is at least `x`. Go's `round2`.
fn round2(x: usize) -> usize {
    x.checked_next_power_of_two().unwrap_or(1 << (usize::BITS - 1))
}

/// Makes room for `framesize` bytes on the stack of the goroutine that has called morestack, if
/// there isn't enough. Then preempts the goroutine if it was asked to stop. Assembly calls this on
/// g0. `m.morebuf` is the caller of the function with the check, and the vector registers are at
/// `regs`. Then assembly lets the goroutine go on where its `sched` says, or leaves it by calling
/// the function that this returns. Go's `newstack`.
///
/// Go's prologue checks again after this, and ours doesn't. So a goroutine gets its room before it
/// is preempted.
#[unsafe(no_mangle)]
extern "C" fn gosched_newstack(framesize: usize, regs: *mut u8) -> Option<Leave> {
    let mp = getm();
    let morebuf = &mp.morebuf;
    let (Some(gp), (pc, sp)) = (mp.curg.get(), (morebuf.pc.take(), morebuf.sp.take())) else {
        throw("runtime: newstack on no goroutine")
    };
    if !morebuf.g.get().is_some_and(|caller| ptr::eq(caller, gp)) {
        throw("runtime: wrong goroutine in newstack");
    }
    morebuf.g.set(None);

    // Read once: another thread may make a request at any time.
    let asked = gp.preempt.load(Ordering::Relaxed) || gp.stackguard0.load(Ordering::Relaxed) == STACK_PREEMPT;
    if asked {
        // The goroutine may be unable to stop now, and go on. A caller that needs the stop asks
        // again.
        gp.stackguard0.store(running_guard(gp), Ordering::Relaxed);
    }
    let preempt = asked && can_preempt_m(mp) && !keeps_p(gp);

    let stack = gp.stack.get();
    if gp.sched.sp.get() < stack.lo {
        eprintln!("runtime: gp={gp:p}, goid={}, gp->status={:#x}", gp.goid.get(), GRUNNING);
        eprintln!("runtime: split stack overflow: {:#x} < {:#x}", gp.sched.sp.get(), stack.lo);
        throw("runtime: split stack overflow");
    }

    // A distance stays the same when the stack is moved.
    let above = stack.hi - sp;
    if preempt && gp.preempt_shrink.swap(false, Ordering::Relaxed) {
        shrinkstack(gp);
    }
    make_room(gp, framesize, pc, above);
    if gp.stack.get() != stack {
        // SAFETY: assembly has saved the registers there, for this call.
        unsafe { adjust_saved(regs, &AdjustInfo::new(stack, gp.stack.get())) };
    }
    // A fixed stack may be too full for the code that restores the registers.
    let room = gp.sched.sp.get() - gp.stack.get().lo >= RESTORE_STACK;
    if preempt && room { stop_here(mp, gp, regs) } else { None }
}

/// Moves the stack of `gp` if `framesize` bytes don't fit below a frame that begins `above` bytes
/// from the stack's high end. The frame's function goes on at `pc`.
fn make_room(gp: &'static G, framesize: usize, pc: usize, above: usize) {
    let stack = gp.stack.get();
    let sp = stack.hi - above;
    let moves = gp.ext.kind.get() == StackKind::Copying;
    // A fixed stack may be used to its end: it can't be made larger, and an overflow can only be
    // reported.
    let guard = if moves { STACK_GUARD } else { 0 };
    // Includes the function's return address, a word, below which its frame begins.
    let needed = above.saturating_add(framesize).saturating_add(guard + size_of::<usize>());
    let oldsize = stack.hi - stack.lo;
    let newsize = if needed > oldsize {
        round2(needed.max(oldsize * 2))
    } else if moves && running_guard(gp) >= stack.hi && !gp.throwsplit.get() {
        oldsize // GODEBUG=stackforcemove=1: to be moved at every check, but in a system call, where no stack moves
    } else {
        // There is room. The check failed because of a request to stop, or has looked at another
        // stack's limit.
        return;
    };
    if gp.throwsplit.get() || std::thread::panicking() {
        eprintln!(
            "runtime: newstack at {pc:#x} sp={sp:#x} stack=[{:#x}, {:#x}]{}",
            stack.lo,
            stack.hi,
            if gp.throwsplit.get() { "" } else { ", while it panics" },
        );
        throw("runtime: stack split at bad time");
    }
    let limit = if moves { MAXSTACKSIZE.load(Ordering::Relaxed) } else { oldsize };
    if newsize > limit {
        overflow(gp, sp, limit, Some(&left_at(gp)))
    }

    // SAFETY: morestack has saved its caller's frame pointer in the goroutine's stack, at
    // `sched.bp`.
    let fp = unsafe { ptr::with_exposed_provenance::<usize>(gp.sched.bp.get()).read() };
    casgstatus(gp, GRUNNING, GCOPYSTACK);
    copystack(gp, size_for(gp, newsize), Frame { pc, sp, fp });
    casgstatus(gp, GCOPYSTACK, GRUNNING);
}
