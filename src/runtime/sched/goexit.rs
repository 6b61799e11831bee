//! The end of a goroutine: Go's `goexit1`, `goexit0` and `gdestroy`.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::arch::sanitizer::goroutine_ended;
use crate::runtime::arch::{gogo, mcall};
use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::{getm, goroutine};
use crate::runtime::data::runtime2::{G, GDEAD, GRUNNING, M, WaitReason, sched};
use crate::runtime::embed::hooks::hooks;
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::g::proflabel::drop_labels;
use crate::runtime::g::status::casgstatus;
use crate::runtime::g::values::forget_values;
use crate::runtime::mem::home::home_stack;
use crate::runtime::p::timer::release_timer;
use crate::runtime::sched::claim::{Source, claim, run_claimed};
use crate::runtime::sched::join::exited;
use crate::runtime::sched::preempt::Leave;
use crate::runtime::sched::schedule::{dropg, schedule};

/// [`proc::goexit`](crate::proc::goexit). Go's `goexit1`.
///
/// # Safety
/// As the raw one, on any goroutine.
pub(crate) unsafe fn goexit1() -> ! {
    // SAFETY: on a goroutine, as the caller says; goexit0 makes it dead.
    unsafe { mcall(gosched_goexit0) }
    throw("goexit1: a dead goroutine runs")
}

/// The function that mcall is to call at the end of a goroutine with thread-locals of its own,
/// which has just run their destructors; assembly calls this.
#[unsafe(no_mangle)]
extern "C" fn gosched_claim_at_end() -> Leave {
    let (gp, mp) = goroutine();
    // Labels are dropped on g0.
    if gp.labels.get().is_null() && claim(gp, mp, Source::Local) { goexit0_claimed } else { gosched_goexit0 }
}

/// [`gosched_goexit0`] with a claim. One that is locked to a thread, which ends with it, has none.
unsafe extern "C" fn goexit0_claimed(gp: *mut G) -> ! {
    let mp = getm();
    // SAFETY: mcall passes the G that was running; G's are never freed.
    gdestroy(mp, unsafe { &*gp });
    // SAFETY: on g0, where mcall calls this, with the P kept; gdestroy has dropped the goroutine.
    unsafe { run_claimed(mp) }
}

/// What the end of a goroutine does on g0. Go's `goexit0`; assembly jumps here when a
/// goroutine's function has returned.
#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_goexit0(gp: *mut G) -> ! {
    let mp = getm();
    // SAFETY: mcall, or the assembly that ends a goroutine, passes the G that was running; G's are
    // never freed.
    if gdestroy(mp, unsafe { &*gp }) {
        end_thread(mp)
    }
    // SAFETY: on g0, where assembly calls this, with the P kept; gdestroy has dropped the
    // goroutine.
    unsafe { schedule(mp) }
}

/// Goes back to mstart, which ends the thread. On g0, whose frames aren't needed any more.
#[cold]
pub(super) fn end_thread(mp: &M) -> ! {
    // SAFETY: on g0, whose `sched` mstart has filled with the place where it goes on, for this one
    // return.
    unsafe { gogo(&mp.ext.g0.sched, 0) }
}

/// Frees what a G that has ended has, and the G itself unless a handle holds it. Says whether it
/// was locked to this thread, which must end then: the goroutine may have changed the thread in
/// ways that others don't expect. Go's `gdestroy`.
#[inline(always)]
pub(super) fn gdestroy(mp: &'static M, gp: &'static G) -> bool {
    trace(|| Event::GoEnd(gp));
    casgstatus(gp, GRUNNING, GDEAD);
    let locked = !gp.lockedm.is_null();
    gp.lockedm.set(None);
    mp.lockedg.set(None);
    gp.preempt_stop.store(false, Ordering::Relaxed);
    if gp.ext.system.take() {
        sched().ngsys.fetch_sub(1, Ordering::Relaxed);
    }
    gp.paniconfault.set(false);
    if let Some(gdestroy) = hooks().gdestroy {
        gdestroy(gp);
    }
    gp._defer.set(ptr::null_mut());
    gp._panic.set(ptr::null_mut());
    gp.waitreason.set(WaitReason::Zero);
    gp.param.store(ptr::null_mut(), Ordering::Relaxed);
    drop_labels(gp);
    forget_values(gp);
    if let Some(t) = gp.timer.get() {
        gp.timer.set(None);
        release_timer(t);
    }
    dropg(mp, gp);
    goroutine_ended(gp, home_stack);
    if mp.locked_int.get() != 0 {
        throw("internal lockOSThread error");
    }
    mp.locked_ext.set(0);
    exited(mp, gp);
    locked
}
