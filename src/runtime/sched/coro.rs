//! Coroutine switches: Go's `coro.go`.
//!
//! A [`Coro`] is like a channel in which one goroutine always waits. The caller of [`coroswitch`]
//! waits there instead, and the goroutine that was waiting goes on, on the same M, in the same time
//! slice. A switch touches no run queue and no lock, which is its purpose. When the coroutine's
//! function returns, its goroutine ends and the other goes on.
//!
//! ```text
//!     the caller          c.gp        the coroutine
//!                         coroutine   waits to begin
//!     coroswitch(c) --->  caller      f(c, arg)
//!                         coroutine   <--- coroswitch(c)
//!     coroswitch(c) --->  caller      goes on
//!                         null        <--- f returns
//! ```
//!
//! A goroutine that is locked to its thread can't lend the thread. If one of the two is locked, the
//! other is made ready and runs by way of the run queue, as it would after a channel operation. Go
//! 1.22 doesn't check for such locks. Later versions end the process unless both goroutines belong
//! to that thread.

use std::ffi::c_void;
use std::io;
use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::arch::tsan;
use crate::runtime::arch::{gogo, gogo_claimed, mcall, mcall_by_jump, systemstack};
use crate::runtime::base::fatal::{misuse, throw};
use crate::runtime::base::this::goroutine;
use crate::runtime::data::ext::{Coro, CoroFn, StackKind};
use crate::runtime::data::runtime2::{G, GRUNNING, GWAITING, M, TraceBlockReason, WaitReason};
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::g::status::casgstatus_untracked;
use crate::runtime::g::values::drop_locals;
use crate::runtime::m::lockosthread::wire_while_panicking;
#[cfg(pthreads)]
use crate::runtime::m::sigmask::take_mask_of;
use crate::runtime::mem::sizes::running_guard;
use crate::runtime::sched::claim::{claim_waiting, let_m_go};
use crate::runtime::sched::goexit::{end_thread, gdestroy};
use crate::runtime::sched::newproc::{Maker, newproc1_parked, not_made};
use crate::runtime::sched::ready::ready_on;
use crate::runtime::sched::schedule::{dropg, schedule};

/// Makes a coroutine on a copying stack. The assembly stub of `newcoro` calls this, with its
/// caller's pc.
///
/// # Safety
/// As [`newcoro`](crate::proc::newcoro).
#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_newcoro_from(
    c: *mut Coro,
    f: Option<CoroFn>,
    arg: *mut c_void,
    callerpc: usize,
) {
    let Some(f) = f else { misuse(format_args!("gosched_newcoro: fn is NULL")) };
    if c.is_null() {
        misuse(format_args!("gosched_newcoro: coro is NULL"))
    }
    // A copying stack may be too small for making a goroutine.
    systemstack(|| {
        // SAFETY: newcoro's caller has promised that `c` stays until the coroutine has ended.
        if let Err(error) = newcoro(unsafe { &*c }, f, arg, StackKind::Copying, &Maker::at(callerpc)) {
            not_made("newcoro", &error)
        }
    })
}

/// Makes a goroutine that waits in `c` to run `f(c, arg)`. Go's `newcoro`.
pub(crate) fn newcoro(
    c: &Coro,
    f: CoroFn,
    arg: *mut c_void,
    kind: StackKind,
    maker: &Maker<'_>,
) -> io::Result<&'static G> {
    let newg = newproc1_parked(corostart, kind, maker, WaitReason::Coroutine)?;
    newg.sched.ctxt.set(arg);
    newg.coroarg.set(ptr::from_ref(c).cast_mut());
    // execute does the same for goroutines that the scheduler runs.
    newg.stackguard0.store(running_guard(newg), Ordering::Relaxed);
    // A switch to it isn't tracked.
    newg.tracking.set(false);
    c.f.set(Some(f));
    // Release pairs with the CAS in swap: the goroutine that switches to it sees all this.
    c.gp.store(Some(newg), Ordering::Release);
    Ok(newg)
}

/// The function of a coroutine's goroutine. Go's `corostart`.
unsafe extern "C" fn corostart(arg: *mut c_void) {
    let (gp, _) = goroutine();
    let c = gp.coroarg.replace(ptr::null_mut());
    tsan::acquire(c);
    // SAFETY: newcoro's caller has promised that the Coro stays until the coroutine has ended, and
    // that `f(c, arg)` may be called here. When it has returned, nothing on this stack is needed.
    unsafe {
        let Some(f) = (*c).f.get() else { throw("corostart: no function") };
        f(c, arg);
        drop_locals(gp);
        coroexit(c)
    }
}

/// Ends the coroutine and the running goroutine. The other goroutine goes on. Go's `coroexit`.
///
/// # Safety
/// To be called on the goroutine of the coroutine `c`, which stays until the goroutine has ended.
/// Nothing on the stack is needed any more: no destructor there runs.
unsafe fn coroexit(c: *mut Coro) -> ! {
    let (gp, _) = goroutine();
    tsan::release(c);
    gp.coroarg.set(c);
    gp.coroexit.set(true);
    // SAFETY: on a goroutine, as the caller says; coroswitch_m makes it dead.
    unsafe { mcall(coroswitch_m) };
    throw("coroexit: a dead goroutine runs")
}

/// [`proc::coroswitch`](crate::proc::coroswitch) without the check of the stack. Go's `coroswitch`.
///
/// # Safety
/// As the raw one, on a goroutine.
#[inline(always)]
pub(crate) unsafe fn coroswitch(c: *const Coro) {
    let (gp, mp) = goroutine();
    wire_while_panicking(gp, mp);
    // SAFETY: as the caller says; coroswitch_m fits any goroutine that comes next.
    unsafe { leave_in(gp, c, coroswitch_m) }
}

/// [`coroswitch`] in a coroutine that only two goroutines use, so the goroutine that waits there
/// now comes next. For a caller that knows its goroutine and M.
///
/// # Safety
/// As [`coroswitch`]; `gp` is the running goroutine, and `mp` its M. No third goroutine switches in
/// `c` before this returns.
#[inline(always)]
pub(crate) unsafe fn coroswitch_of_two(gp: &'static G, mp: &'static M, c: *const Coro) {
    // SAFETY: as the caller says, which keeps `c`. The goroutine that was claimed is still there
    // then.
    unsafe {
        if gp.ext.tp.get() != 0 && (*c).gp.get().is_some_and(|next| claim_waiting(gp, mp, next)) {
            leave_in(gp, c, coroswitch_claimed_m)
        } else {
            wire_while_panicking(gp, mp);
            leave_in(gp, c, coroswitch_m)
        }
    }
}

/// Leaves `gp`, the running goroutine, in `c` by `coroswitch_m`.
///
/// # Safety
/// As [`coroswitch`]; `coroswitch_m` is the variant for a claim if `gp` has claimed the goroutine
/// that waits in `c`.
#[inline(always)]
unsafe fn leave_in(gp: &'static G, c: *const Coro, coroswitch_m: unsafe extern "C" fn(*mut G) -> !) {
    gp.coroarg.set(c.cast_mut());
    tsan::release(c);
    // SAFETY: on a goroutine, as the caller says; coroswitch_m leaves it in the coroutine, and the
    // next switch resumes it.
    unsafe { mcall_by_jump(coroswitch_m) }
    tsan::acquire(c);
}

/// What [`coroswitch`] and [`coroexit`] do on g0. Go's `coroswitch_m`.
unsafe extern "C" fn coroswitch_m(gp: *mut G) -> ! {
    // SAFETY: mcall calls it.
    unsafe { switch_on_g0::<false>(gp) }
}

/// [`coroswitch_m`] with a claim.
unsafe extern "C" fn coroswitch_claimed_m(gp: *mut G) -> ! {
    // SAFETY: as in coroswitch_m.
    unsafe { switch_on_g0::<true>(gp) }
}

/// [`coroswitch_m`], or [`coroswitch_claimed_m`] if `CLAIMED`.
///
/// It is called more often than any other switch. It has three CASes, and rare cases are kept out
/// of line, which saves a fifth of the time of a switch.
///
/// # Safety
/// [`mcall`] calls it; if `CLAIMED`, its goroutine has claimed the goroutine that waits in the
/// coroutine.
#[inline(always)]
unsafe fn switch_on_g0<const CLAIMED: bool>(gp: *mut G) -> ! {
    // SAFETY: mcall passes the G that called it, and G's are never freed.
    let gp: &'static G = unsafe { &*gp };
    // SAFETY: coroswitch or coroexit has set it; their callers promised that it stays until the
    // switch.
    let c = unsafe { &*gp.coroarg.replace(ptr::null_mut()) };
    let Some(mp) = gp.m.get() else { throw("coroswitch: no m") };
    if !CLAIMED && gp.coroexit.get() {
        coroexit_m(mp, gp, c)
    }
    let unlocked = gp.lockedm.is_null();
    gp.waitreason.set(WaitReason::Coroutine);
    casgstatus_untracked(gp, GRUNNING, GWAITING);
    // Traced before the goroutine is in the coroutine, where another thread may find and run it at
    // once.
    trace(|| Event::GoPark(gp, TraceBlockReason::Generic));
    dropg(mp, gp);
    let gnext = swap(c, Some(gp));
    if !CLAIMED && !(unlocked & gnext.lockedm.is_null()) {
        ready_and_schedule(mp, gnext)
    }
    // SAFETY: on g0 by mcall, with the P kept and the goroutine dropped; swap made gnext ours. It
    // is the goroutine that was claimed, as no third goroutine has switched in `c`.
    unsafe { run_waiting::<CLAIMED>(mp, gnext) }
}

/// The part of [`coroswitch_m`] for a goroutine that ends.
#[cold]
#[inline(never)]
fn coroexit_m(mp: &'static M, gp: &'static G, c: &Coro) -> ! {
    gp.coroexit.set(false);
    let locked = !gp.lockedm.is_null();
    let gnext = swap(c, None);
    // For the tracer. gdestroy clears it.
    gp.waitreason.set(WaitReason::Coroutine);
    if locked || !gnext.lockedm.is_null() {
        // Made ready first, as this thread may end with the goroutine that locked it.
        ready_on(Some(mp), gnext, true);
        if gdestroy(mp, gp) {
            end_thread(mp)
        }
        // SAFETY: on g0 by mcall, with the P kept; gdestroy has dropped the goroutine.
        unsafe { schedule(mp) }
    }
    gdestroy(mp, gp);
    // SAFETY: on g0 by mcall, with the P kept and the goroutine dropped; swap made gnext ours.
    unsafe { run_waiting::<false>(mp, gnext) }
}

/// Leaves `gp` in the coroutine; returns the goroutine that was there, which the caller owns now.
/// After that `c` may be gone.
#[inline(always)]
fn swap(c: &Coro, gp: Option<&'static G>) -> &'static G {
    loop {
        let next = c.gp.get();
        let Some(gnext) = next else { throw("coroswitch on exited coro") };
        if c.gp.cas(next, gp) {
            return gnext;
        }
    }
}

/// Runs a goroutine that was waiting, without the scheduler: in the current time slice.
///
/// # Safety
/// To be called on g0 of `mp`, which has a P and no goroutine. `gnext` waits, and belongs to the
/// caller alone; if `CLAIMED`, `mp` has claimed it.
#[inline(always)]
unsafe fn run_waiting<const CLAIMED: bool>(mp: &'static M, gnext: &'static G) -> ! {
    mp.curg.set(Some(gnext));
    gnext.m.set(Some(mp));
    trace(|| Event::GoUnpark(gnext));
    casgstatus_untracked(gnext, GWAITING, GRUNNING);
    gnext.waitsince.set(0);
    #[cfg(pthreads)]
    take_mask_of(mp, gnext);
    trace(|| Event::GoStart(gnext));
    let guard = gnext.stackguard0.load(Ordering::Relaxed);
    // SAFETY: on g0, and the G is this M's alone, as the caller says. It is running now, for the
    // first time since mcall or newproc1 filled its `sched`. With a claim, mcall has set its thread
    // pointer.
    unsafe {
        if CLAIMED {
            let_m_go(mp);
            gogo_claimed(&gnext.sched, guard)
        }
        gogo(&gnext.sched, guard)
    }
}

/// Puts `gnext` on the run queue, because one of the two goroutines is locked to its thread.
#[cold]
#[inline(never)]
fn ready_and_schedule(mp: &'static M, gnext: &'static G) -> ! {
    ready_on(Some(mp), gnext, true);
    // SAFETY: on g0 by mcall, with the P kept; coroswitch_m has dropped the goroutine.
    unsafe { schedule(mp) }
}
