//! Takes the next goroutine off its queue before the last one has left. Go doesn't, because its
//! goroutines have no thread-locals of their own.
//!
//! A switch between two goroutines with thread-locals sets the thread pointer, the most expensive
//! part of a switch. Each goroutine runs on its own thread pointer, and g0 on its M's, which makes
//! two writes. If the next goroutine is known when the last one leaves, one write is enough: g0
//! then has the thread pointer of the next goroutine.
//!
//! ```text
//!     the one that leaves   claim: the next one off the queue        thread pointer: its own
//!     mcall                                                          the next one's
//!     g0                    publishes the one that has left
//!                           run_claimed: executes the next one
//!     the next one          goes on
//! ```
//!
//! - [`claim`] takes what [`find_runnable`] would take from the P's queue, and only where
//!   `find_runnable` would look at nothing else before. So `find_runnable` decides what is fair.
//! - [`claim_waiting`] takes nothing off a queue: the next goroutine waits in a coroutine for the
//!   goroutine that leaves.
//! - After a claim the M is held: it keeps its P, and isn't preempted.
//! - A goroutine that has claimed leaves by mcall at once, to a function that ends in
//!   [`run_claimed`]. If the goroutine is to go on after all, that function calls [`unclaim`]. A
//!   switch of coroutines calls [`let_m_go`].
//! - While a thread has the thread pointer of a goroutine, `gosched_g` there is that goroutine, or
//!   this M's g0. While no thread has that thread pointer, `gosched_g` there is the goroutine. So a
//!   signal handler always finds whose thread it is on.
//! - The code that runs on g0 in between is the runtime's, and uses no thread-local with a
//!   destructor, which would run when the next goroutine ends. So nothing is claimed if a tracer, a
//!   hook or labels of the program's would be called or dropped there. The program's allocator may
//!   be called: no goroutine is switched in the middle of it unless it parks, and on g0 it can't
//!   park in any case.
//! - g0 keeps the M's thread pointer in two cases. If the next goroutine is locked to a thread,
//!   another M runs it. If the next goroutine was stopped between two instructions, `errno` may be
//!   in use there, and g0 makes system calls.
//!
//! [`find_runnable`]: crate::runtime::sched::schedule

use std::mem;
use std::sync::atomic::Ordering;

use crate::runtime::arch::sanitizer::SANITIZED;
use crate::runtime::arch::{gogo_claimed, prefetch_g, unclaim as leave_locals};
use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::{held, hold_p};
use crate::runtime::data::ext::OwesWake;
use crate::runtime::data::runtime2::{G, M, P, sched};
use crate::runtime::embed::hooks::hooks;
use crate::runtime::embed::trace::tracing;
use crate::runtime::lock::{lock_on, unlock_on};
use crate::runtime::m::turn::turns_waiting;
use crate::runtime::p::runq::{globrunqget, runqget, runqput};
use crate::runtime::p::stop::asked_to_stop;
use crate::runtime::sched::entersyscall::startlockedm;
use crate::runtime::sched::poll::own_timers_due;
use crate::runtime::sched::schedule::{execute, make_running, schedule, user_disabled};
use crate::runtime::sched::wake::pay_wakes;

/// Where [`claim`] looks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// On the P's queue.
    Local,
    /// On the global queue, if the P's is empty.
    Global,
}

/// Takes the next goroutine off its queue, for `gp`, the goroutine of `mp`, which is about to leave
/// its stack. Returns false if it has claimed nothing, and the scheduler has to find a goroutine.
#[inline(always)]
pub(super) fn claim(gp: &G, mp: &'static M, from: Source) -> bool {
    gp.ext.tp.get() != 0 && !SANITIZED && claim_next(mp, from)
}

#[inline(never)]
fn claim_next(mp: &'static M, from: Source) -> bool {
    let held = hold_p(mp);
    let Some(pp) = held.p() else { return false };
    if !queue_is_next(mp, pp) {
        return false;
    }
    let next =
        runqget(pp.local()).or_else(|| if from == Source::Global { from_global(mp, pp) } else { None });
    let Some((next, inherit_time)) = next else { return false };
    mp.ext.claimed.set(Some(next));
    mp.ext.claimed_inherits.set(inherit_time);
    let next_tp = next.ext.tp.get();
    if next_tp != 0 && next.lockedm.is_null() && next.ext.x_regs.get().is_null() {
        claim_locals(mp, next_tp);
    }
    mem::forget(held);
    true
}

/// Claims `next`, which waits only for `gp`, the goroutine of `mp`. `gp` has thread-locals of its
/// own. Returns false if it has claimed nothing.
#[inline(always)]
pub(super) fn claim_waiting(gp: &G, mp: &'static M, next: &G) -> bool {
    let held = hold_p(mp);
    let next_tp = next.ext.tp.get();
    let locked = !gp.lockedm.is_null() || !next.lockedm.is_null();
    if next_tp == 0 || SANITIZED || locked || tracing() {
        return false;
    }
    claim_locals(mp, next_tp);
    mem::forget(held);
    true
}

/// Makes mcall give g0 of `mp` this thread pointer.
#[inline(always)]
fn claim_locals(mp: &M, next_tp: usize) {
    mp.ext.next_tp.set(next_tp);
    // mcall stores to the goroutine's `gosched_g` and then sets the thread pointer. Setting it
    // waits for the store.
    prefetch_g(next_tp);
}

/// Whether the scheduler would look first at the queue of `pp`, and would only run the goroutine
/// that it finds there.
#[inline(always)]
fn queue_is_next(mp: &M, pp: &P) -> bool {
    !asked_to_stop(pp)
        // In an exploration this flag is always set.
        && !pp.preempt.load(Ordering::Relaxed)
        && !own_timers_due(pp)
        && mp.lockedg.is_null()
        && !user_disabled()
        && !hooked()
        && (!pp.schedtick.load(Ordering::Relaxed).is_multiple_of(61)
            || sched().runqsize.load(Ordering::Relaxed) == 0 && !turns_waiting())
}

/// Whether code of the program's may run on g0.
fn hooked() -> bool {
    tracing() || hooks().find_runnable_gc_worker.is_some() || hooks().gdestroy.is_some()
}

/// Takes the next goroutine off the global queue.
fn from_global(mp: &'static M, pp: &P) -> Option<(&'static G, bool)> {
    if sched().runqsize.load(Ordering::Relaxed) == 0 || turns_waiting() {
        return None;
    }
    lock_on(Some(mp), &sched().lock);
    let next = globrunqget(pp.local(), 0);
    unlock_on(Some(mp), &sched().lock);
    Some((next?, false))
}

/// Runs the goroutine that was claimed.
///
/// # Safety
/// As [`schedule`], after a [`claim`].
#[inline(always)]
pub(super) unsafe fn run_claimed(mp: &'static M) -> ! {
    let (gp, has_its_own) = end_claim(mp);
    let inherit_time = mp.ext.claimed_inherits.get();
    if mp.locks.get() != 0 {
        throw("schedule: holding locks");
    }
    pay_wakes(mp);
    if !has_its_own {
        // SAFETY: as the caller says; claim has taken the G off its queue.
        unsafe { run_by_gogo(mp, gp, inherit_time) }
    }
    let guard = make_running(mp, gp, inherit_time);
    // SAFETY: on g0, as the caller says. claim has taken the G off its queue, so it is this M's
    // alone, and mcall or newproc1 has filled `sched` since it last ran. mcall has set its thread
    // pointer.
    unsafe { gogo_claimed(&gp.sched, guard) }
}

/// [`run_claimed`] for a thread that has the M's thread pointer.
///
/// # Safety
/// As [`execute`], except that `gp` may be locked to another M.
#[inline(always)]
unsafe fn run_by_gogo(mp: &'static M, gp: &'static G, inherit_time: bool) -> ! {
    if !gp.lockedm.is_null() {
        startlockedm(mp, gp);
        // SAFETY: on g0, as the caller says; the goroutine that was here has left.
        unsafe { schedule(mp) }
    }
    // SAFETY: as the caller says, and the G is locked to no M.
    unsafe { execute(mp, gp, inherit_time) }
}

/// Puts the claimed goroutine back, to be the next, because the goroutine that left goes on.
#[cold]
#[inline(never)]
pub(super) fn unclaim(mp: &'static M) {
    let (gp, has_its_own) = end_claim(mp);
    if has_its_own {
        // SAFETY: on g0, as the caller is, with the thread pointer that mcall has set; the G is on
        // no queue.
        unsafe { leave_locals(mp.ext.tp.get(), gp) };
    }
    let Some(pp) = mp.p() else { throw("unclaim: no p") };
    runqput(pp.local(), gp, true);
    // An M that was woken for the claimed goroutine may have looked for it meanwhile, and found
    // nothing.
    mp.ext.owes_wake.set(OwesWake::Yes);
}

/// Ends the claim of `mp`. Returns the claimed goroutine, and whether this thread has that
/// goroutine's thread pointer.
#[inline(always)]
fn end_claim(mp: &'static M) -> (&'static G, bool) {
    let Some(gp) = mp.ext.claimed.get() else { throw("run_claimed: nothing is claimed") };
    mp.ext.claimed.set(None);
    (gp, let_m_go(mp))
}

/// Releases the M that a claim holds. Returns whether this thread has the thread pointer of the
/// claimed goroutine.
#[inline(always)]
pub(super) fn let_m_go(mp: &'static M) -> bool {
    let has_its_own = mp.ext.next_tp.replace(mp.ext.tp.get()) != mp.ext.tp.get();
    drop(held(mp));
    has_its_own
}
