//! Parking a goroutine: Go's `gopark`, `goparkunlock` and `park_m`.
//!
//! A park has two halves. [`gopark`], on the goroutine's stack, notes a function to call once the
//! goroutine is off the stack. `park_m`, on g0, makes the goroutine waiting, and calls the
//! function. As a rule, the function releases the lock of the queue that the goroutine has entered.
//! From then on another thread may make the goroutine ready and run it. So the lock can't be
//! released before the goroutine has left its stack.

use std::ffi::c_void;
use std::ptr;

use crate::runtime::arch::mcall;
use crate::runtime::arch::tsan;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::{getm, goroutine};
use crate::runtime::data::runtime2::{
    G, GRUNNABLE, GRUNNING, GSCAN, GWAITING, M, Mutex, TraceBlockReason, Unlockf, WaitReason,
};
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::g::status::{casgstatus, readgstatus};
use crate::runtime::lock::port_mutex::PortMutex;
use crate::runtime::lock::port_mutex::unlock_of_port;
use crate::runtime::lock::unlock;
use crate::runtime::m::lockosthread::wire_while_panicking;
use crate::runtime::sched::claim::{Source, claim, run_claimed, unclaim};
use crate::runtime::sched::detach::need_p;
use crate::runtime::sched::schedule::{dropg, execute, schedule};
use crate::runtime::sched::wake::pay_wakes;

/// [`proc::gopark`](crate::proc::gopark) without the check of the stack, for an `unlockf` of the
/// program's. Such an `unlockf` needs the thread-locals of the M's thread, so nothing is claimed.
///
/// # Safety
/// As the raw one, on a goroutine.
#[inline(never)]
pub(crate) unsafe fn gopark_of_program(
    unlockf: Option<Unlockf>,
    lock: *mut c_void,
    reason: WaitReason,
    trace_reason: TraceBlockReason,
    traceskip: i32,
) {
    let (gp, mp) = goroutine();
    note_park(gp, mp, unlockf, lock, reason, trace_reason, traceskip);
    // SAFETY: on a goroutine, as the caller says; park_m makes it waiting, and the caller has
    // arranged for it to be made ready.
    unsafe { mcall(park_m::<false>) }
}

/// Parks the running goroutine: see [`proc::gopark`](crate::proc::gopark). Go's `gopark`.
///
/// # Safety
/// As the raw one, on a goroutine. `unlockf` is the runtime's, and uses no thread-local that has a
/// destructor.
#[inline(never)]
pub(in crate::runtime) unsafe fn gopark(
    unlockf: Option<Unlockf>,
    lock: *mut c_void,
    reason: WaitReason,
    trace_reason: TraceBlockReason,
    traceskip: i32,
) {
    let (gp, mp) = goroutine();
    // SAFETY: the caller keeps gopark's conditions, and these are the running goroutine and its M.
    unsafe { gopark_on(gp, mp, unlockf, lock, reason, trace_reason, traceskip) }
}

/// [`gopark`] for a caller that knows its goroutine and M.
///
/// # Safety
/// As [`gopark`]; `gp` is the running goroutine, and `mp` its M.
#[inline(always)]
pub(in crate::runtime) unsafe fn gopark_on(
    gp: &'static G,
    mp: &'static M,
    unlockf: Option<Unlockf>,
    lock: *mut c_void,
    reason: WaitReason,
    trace_reason: TraceBlockReason,
    traceskip: i32,
) {
    note_park(gp, mp, unlockf, lock, reason, trace_reason, traceskip);
    let park_m = if claim(gp, mp, Source::Local) { park_m::<true> } else { park_m::<false> };
    // SAFETY: on a goroutine, as the caller says; park_m makes it waiting, and the caller has
    // arranged for it to be made ready.
    unsafe { mcall(park_m) }
}

/// The first half of a park: notes what the second half is to do.
#[inline(always)]
fn note_park(
    gp: &'static G,
    mp: &'static M,
    unlockf: Option<Unlockf>,
    lock: *mut c_void,
    reason: WaitReason,
    trace_reason: TraceBlockReason,
    traceskip: i32,
) {
    wire_while_panicking(gp, mp);
    let status = readgstatus(gp);
    if status & !GSCAN != GRUNNING {
        throw("gopark: bad g status");
    }
    mp.waitlock.set(lock);
    mp.waitunlockf.set(unlockf);
    gp.waitreason.set(reason);
    mp.wait_trace_block_reason.set(trace_reason);
    mp.wait_trace_skip.set(traceskip);
}

/// [`gopark`] that releases `lock`, a runtime lock that the caller holds and whose memory is never
/// given back (`lock/key.rs`). The next thread that takes the lock may make the goroutine ready.
/// Go's `goparkunlock`.
pub(crate) fn goparkunlock(lock: &Mutex, reason: WaitReason, trace_reason: TraceBlockReason, traceskip: i32) {
    tsan::release(&lock.key.locked);
    let lock = ptr::from_ref(lock).cast_mut().cast();
    // SAFETY: gopark checks that this is a goroutine, and nothing here comes from a thread-local.
    // parkunlock_c touches the lock alone, doesn't park or unwind, and returns true.
    unsafe { gopark(Some(parkunlock_c), lock, reason, trace_reason, traceskip) }
}

/// The part of [`goparkunlock`] on g0: releases the lock. Go's `parkunlock_c`.
///
/// # Safety
/// `lock` is a [`Mutex`] that this M holds.
unsafe extern "C" fn parkunlock_c(_gp: *mut G, lock: *mut c_void) -> bool {
    // SAFETY: goparkunlock passed a mutex whose memory is never given back.
    unlock(unsafe { &*lock.cast::<Mutex>() });
    true
}

/// [`goparkunlock`] for a lock of a port's.
pub(crate) fn goparkunlock_of_port(lock: &PortMutex, reason: WaitReason) {
    /// # Safety
    /// `lock` is a [`PortMutex`] that this M holds.
    unsafe extern "C" fn parkunlock(_gp: *mut G, lock: *mut c_void) -> bool {
        // SAFETY: the lock that is passed below, which stays until it is released.
        unlock_of_port(unsafe { &*lock.cast::<PortMutex>() });
        true
    }

    tsan::release(&lock.key);
    let lock = ptr::from_ref(lock).cast_mut().cast();
    // SAFETY: as in goparkunlock.
    unsafe { gopark(Some(parkunlock), lock, reason, TraceBlockReason::Generic, 4) }
}

/// The part of [`gopark`] on g0; with a claim, if `CLAIMED`. Go's `park_m`.
unsafe extern "C" fn park_m<const CLAIMED: bool>(gp: *mut G) -> ! {
    // SAFETY: mcall passes the G that called it, and G's are never freed.
    let gp: &'static G = unsafe { &*gp };
    let mp = getm();
    casgstatus(gp, GRUNNING, GWAITING);
    trace(|| Event::GoPark(gp, mp.wait_trace_block_reason.get()));
    dropg(mp, gp);
    if let Some(unlockf) = mp.waitunlockf.get() {
        // SAFETY: gopark's caller has promised that this may be called now: the goroutine is off
        // its stack and waits, and this is g0.
        let stay = unsafe { unlockf(gp.as_ptr(), mp.waitlock.get()) };
        mp.waitunlockf.set(None);
        mp.waitlock.set(ptr::null_mut());
        if !stay {
            if CLAIMED {
                unclaim(mp);
            }
            casgstatus(gp, GWAITING, GRUNNABLE);
            trace(|| Event::GoUnpark(gp));
            if mp.p.is_null() {
                need_p(mp);
            }
            // `unlockf` may have made another goroutine ready, or started a timer.
            pay_wakes(mp);
            // SAFETY: on g0 of `mp`, which has a P. The G is runnable and on no queue, as nothing
            // makes it ready if `unlockf` returns false. If it is locked, it is locked to this M,
            // where it ran.
            unsafe { execute(mp, gp, true) }
        }
    }
    // SAFETY: on g0 of `mp`; dropg has taken its goroutine.
    unsafe { if CLAIMED { run_claimed(mp) } else { schedule(mp) } }
}
