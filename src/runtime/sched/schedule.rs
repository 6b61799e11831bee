//! The scheduler, which decides what this M runs next: Go's `schedule`, `findRunnable` and
//! `execute`. At the end are the functions that stop user goroutines while a collector's goroutines
//! may run: Go's `schedEnableUser`.

use std::sync::atomic::Ordering;

use crate::runtime::arch::gogo;
use crate::runtime::base::fatal::{overflow, throw};
use crate::runtime::base::this::goroutine;
use crate::runtime::data::runtime2::{G, GRUNNABLE, GRUNNING, GWAITING, M, P, sched};
use crate::runtime::embed::hooks::hooks;
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::explore::run::{leaves, next};
use crate::runtime::g::explored::exploring;
use crate::runtime::g::status::casgstatus;
use crate::runtime::lock::{assert_lock_held, lock, lock_on, unlock, unlock_on};
#[cfg(pthreads)]
use crate::runtime::m::sigmask::take_mask_of;
use crate::runtime::m::startm::{startm, stopm};
use crate::runtime::m::turn::{need_before_queues, turn_before_queue, turn_needed};
use crate::runtime::mem::sizes::running_guard;
use crate::runtime::p::procs::{gomaxprocs, procs};
use crate::runtime::p::runq::globrunqputbatch;
use crate::runtime::p::runq::{globrunqget, globrunqput, runqget};
use crate::runtime::p::stop::{asked_to_stop, end_if_forked, run_safe_point_fn};
use crate::runtime::p::timer_heap::nobarrier_wake_time;
use crate::runtime::sched::detach::leave_m;
use crate::runtime::sched::entersyscall::{gcstopm, let_turn, startlockedm, stoplockedm};
use crate::runtime::sched::poll::{
    STEAL_TRIES, Stolen, check_own_timers, earlier, poll_now, poll_or_stop, steal_work,
};
use crate::runtime::sched::wake::{Dropped, drop_p, pay_wakes, wakep};

/// One round of the scheduler: finds a goroutine and runs it. Go's `schedule`.
///
/// Inlined, with [`execute`], into each function that mcall jumps to: a call that never returns
/// would put the return predictor out of step (`asm.S`).
///
/// # Safety
/// To be called on g0 of `mp`, which has no goroutine. `mp` has a P, unless its last goroutine had
/// lost it.
#[inline(always)]
pub(super) unsafe fn schedule(mp: &'static M) -> ! {
    if mp.locks.get() != 0 {
        throw("schedule: holding locks");
    }
    if let Some(lockedg) = mp.lockedg.get() {
        stoplockedm(mp);
        // SAFETY: on g0, as the caller says. stoplockedm has returned with a P, and with the G
        // runnable, on no queue, and locked to this M.
        unsafe { execute(mp, lockedg, false) }
    }
    loop {
        let Some(pp) = mp.p() else {
            find_p(mp);
            continue;
        };
        if mp.spinning.get() && !pp.local().is_empty() {
            throw("schedule: spinning with local work");
        }
        let (gp, inherit_time, try_wake_p) = find_runnable(mp);
        pay_wakes(mp);
        if user_disabled() && hold_back(gp) {
            continue;
        }
        if try_wake_p {
            // This P runs a collector's worker, so other work needs another P.
            wakep();
        }
        if !gp.lockedm.is_null() {
            startlockedm(mp, gp);
            continue;
        }
        // SAFETY: on g0, as the caller says, with a P, as find_runnable returned; it has taken `gp`
        // off its queue. And `gp` is locked to no M.
        unsafe { execute(mp, gp, inherit_time) }
    }
}

/// Gets a P for `mp`, whose goroutine had lost its P and has left: the old P, an idle one, or the P
/// with which another M wakes `mp`.
#[cold]
#[inline(never)]
fn find_p(mp: &'static M) {
    if !leave_m(mp) {
        stopm(mp);
    }
}

/// Ends the time slice of `pp`, as `preempt` asks, when the goroutine that ran has left by itself.
/// The G in runnext, which would inherit the slice, goes to the global queue. A goroutine of Go's
/// soon meets a check, and goes there then. Two of ours that make each other ready may have no
/// check, and would keep all others out; so would a goroutine whose timer is always due.
#[cold]
#[inline(never)]
fn end_time_slice(pp: &P) {
    pp.preempt.store(false, Ordering::Relaxed);
    if let Some(gp) = pp.local().take_next() {
        lock(&sched().lock);
        globrunqput(gp);
        unlock(&sched().lock);
    }
}

/// Runs `gp` on this M; in the current time slice if `inherit_time`. Go's `execute`.
///
/// # Safety
/// On g0 of `mp`, which has a P. `gp` is runnable, on no queue, and not locked to another M.
#[inline(always)]
pub(super) unsafe fn execute(mp: &'static M, gp: &'static G, inherit_time: bool) -> ! {
    let guard = make_running(mp, gp, inherit_time);
    // SAFETY: on g0, as the caller says. The G was runnable and on no queue, so it is this M's
    // alone now, and mcall or newproc1 has filled `sched` since it last ran.
    unsafe { gogo(&gp.sched, guard) }
}

/// Makes `gp` the goroutine that this M runs. Returns its guard, for gogo. The first part of Go's
/// `execute`.
#[inline(always)]
pub(super) fn make_running(mp: &'static M, gp: &'static G, inherit_time: bool) -> usize {
    mp.curg.set(Some(gp));
    gp.m.set(Some(mp));
    casgstatus(gp, GRUNNABLE, GRUNNING);
    gp.waitsince.set(0);
    gp.preempt.store(false, Ordering::Relaxed);
    let guard = running_guard(gp);
    gp.stackguard0.store(guard, Ordering::Relaxed);
    if !inherit_time && let Some(pp) = mp.p() {
        pp.schedtick.store(pp.schedtick.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
    #[cfg(pthreads)]
    take_mask_of(mp, gp);
    trace(|| Event::GoStart(gp));
    guard
}

/// Parts the M and the goroutine that has just left its stack. Go's `dropg`.
#[inline(always)]
pub(super) fn dropg(mp: &'static M, gp: &'static G) {
    if gp.sched.sp.get() < gp.stack.get().lo {
        // Without a guard page, this is where an overflow is noticed.
        unguarded_overflow(gp);
    }
    gp.m.set(None);
    mp.curg.set(None);
}

/// Ends the process if a goroutine without a guard page has left its stack below the stack's end:
/// it has written over the memory there, and nothing can be saved. A goroutine that must have a
/// guard page is on a stack that the program has made.
#[cold]
#[inline(never)]
fn unguarded_overflow(gp: &'static G) {
    let stack = gp.stack.get();
    if !gp.ext.kind.get().has_own_locals() {
        overflow(gp, gp.sched.sp.get(), stack.hi - stack.lo, None);
    }
}

/// Finds a goroutine to run, and waits until there is one. Returns it, whether it inherits the time
/// slice, and whether a P should be woken for other work. Go's `findRunnable`, in Go's order;
/// `mod.rs` has the table.
///
/// Every 61st time the global queue comes before the local one. Otherwise two goroutines that make
/// each other ready could keep all others out. M's that wait for their turn with a goroutine come
/// at the same place as the global queue, and alternate with it.
#[inline(always)]
fn find_runnable(mp: &'static M) -> (&'static G, bool, bool) {
    loop {
        let Some(pp) = mp.p() else { throw("findrunnable: no p") };
        if asked_to_stop(pp) {
            stop_as_asked(mp, pp);
            continue;
        }
        check_own_timers(mp, pp);
        if pp.preempt.load(Ordering::Relaxed) {
            if exploring() {
                match explored(mp, pp) {
                    Explored::Run(gp) => return (gp, false, false),
                    Explored::Again => continue,
                    Explored::Nothing => {}
                }
            }
            end_time_slice(pp);
            if need_before_queues() && let_turn(mp, pp) {
                continue;
            }
            // Set to look again in the next round.
            pp.preempt.store(turn_needed() || exploring(), Ordering::Relaxed);
        }
        if let Some(worker) = hooks().find_runnable_gc_worker
            && let Some(gp) = gc_worker(worker, pp)
        {
            return (gp, false, true);
        }
        if pp.schedtick.load(Ordering::Relaxed).is_multiple_of(61) {
            if turn_before_queue() && let_turn(mp, pp) {
                continue;
            }
            if let Some(gp) = globrunqget_locked(mp, pp, 1) {
                return (gp, false, false);
            }
        }
        if let Some((gp, inherit_time)) = runqget(pp.local()) {
            return (gp, inherit_time, false);
        }
        if let Some((gp, inherit_time)) = look_further(mp, pp) {
            return (gp, inherit_time, false);
        }
    }
}

/// The choice of an exploration: see [`explored`].
enum Explored {
    /// This goroutine is next.
    Run(&'static G),
    /// Other M's had the P meanwhile.
    Again,
    /// The run has to wait, or there is no run.
    Nothing,
}

/// Does a scheduler's round of an exploration, on its P, whose time slice is always over.
#[cold]
#[inline(never)]
fn explored(mp: &'static M, pp: &'static P) -> Explored {
    if need_before_queues() {
        leaves(pp);
        if let_turn(mp, pp) {
            return Explored::Again;
        }
    }
    next(pp).map_or(Explored::Nothing, Explored::Run)
}

/// Stops if the world is to stop, or runs the function that this P is asked to run. Ends a child of
/// `fork`.
#[cold]
fn stop_as_asked(mp: &'static M, pp: &'static P) {
    // SeqCst: see `Schedt::gcwaiting`.
    if sched().gcwaiting.load(Ordering::SeqCst) {
        gcstopm(mp);
    } else {
        end_if_forked(pp);
        run_safe_point_fn(pp);
    }
}

/// The second half of [`find_runnable`], when there is no local work. Returns none if the first
/// half is to begin again, with the P that the M has by then.
#[inline(never)]
fn look_further(mp: &'static M, pp: &'static P) -> Option<(&'static G, bool)> {
    let fresh = |gp| (gp, false);
    if turn_before_queue() && let_turn(mp, pp) {
        return None;
    }
    if let Some(gp) = globrunqget_locked(mp, pp, 0) {
        return Some(fresh(gp));
    }
    if let Some(gp) = poll_now() {
        return Some(fresh(gp));
    }
    let mut poll_until = nobarrier_wake_time(pp);
    // At most half as many M's spin as P's are busy. With many P's and little to do, more would
    // only burn time. Hints; SeqCst: see `Schedt::npidle` and `Schedt::nmspinning`.
    let busy = gomaxprocs() - sched().npidle.load(Ordering::SeqCst);
    if mp.spinning.get() || 2 * sched().nmspinning.load(Ordering::SeqCst) < busy {
        if !mp.spinning.get() {
            mp.become_spinning();
        }
        match steal_work(mp, pp, STEAL_TRIES) {
            Stolen::Work(gp, inherit_time) => return Some((gp, inherit_time)),
            Stolen::Again => return None,
            Stolen::Nothing { poll_until: others } => poll_until = earlier(poll_until, others),
        }
    }
    // Read while the M has a P. Once it has none, the world may stop, and the table may be
    // replaced.
    let procs = procs();
    let was_spinning = mp.spinning.get();
    match drop_p(mp, pp, procs) {
        Dropped::Run(gp) => Some(fresh(gp)),
        Dropped::Again => None,
        Dropped::Stop => poll_or_stop(mp, procs, poll_until, was_spinning).map(fresh),
    }
}

/// Asks the embedder's collector for a worker, and makes the worker runnable.
#[cold]
fn gc_worker(find_runnable_gc_worker: fn(&P) -> *mut G, pp: &P) -> Option<&'static G> {
    // SAFETY: the hook returns null or a G, as Hooks says, and G's are never freed.
    let gp = unsafe { find_runnable_gc_worker(pp).as_ref() }?;
    casgstatus(gp, GWAITING, GRUNNABLE);
    trace(|| Event::GoUnpark(gp));
    Some(gp)
}

/// [`globrunqget`] that takes the lock, if the queue isn't empty.
#[inline(always)]
fn globrunqget_locked(mp: &'static M, pp: &P, max: i32) -> Option<&'static G> {
    if sched().runqsize.load(Ordering::Relaxed) == 0 {
        return None;
    }
    lock_on(Some(mp), &sched().lock);
    let gp = globrunqget(pp.local(), max);
    unlock_on(Some(mp), &sched().lock);
    gp
}

/// Whether user goroutines may not run now; read without the lock.
#[inline(always)]
pub(super) fn user_disabled() -> bool {
    sched().disable.user.load(Ordering::Relaxed)
}

/// [`proc::sched_enable_user`](crate::proc::sched_enable_user), on g0. Go's `schedEnableUser`.
pub(crate) fn sched_enable_user(enable: bool) {
    lock(&sched().lock);
    let disable = &sched().disable;
    let n = if disable.user.load(Ordering::Relaxed) == enable {
        disable.user.store(!enable, Ordering::Relaxed);
        if enable { disable.n.take() } else { 0 }
    } else {
        0
    };
    if n > 0 {
        globrunqputbatch(&disable.runnable, n);
    }
    unlock(&sched().lock);
    for _ in 0..n {
        // A hint: startm looks again. SeqCst: see `Schedt::npidle`.
        if sched().npidle.load(Ordering::SeqCst) == 0 {
            break;
        }
        startm(None, None);
    }
}

/// [`proc::become_system_goroutine`](crate::proc::become_system_goroutine).
pub(crate) fn become_system_goroutine() {
    let (gp, _) = goroutine();
    if !gp.ext.system.replace(true) {
        sched().ngsys.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether `gp` may run. `sched.lock` is held. Go's `schedEnabled`.
pub(super) fn sched_enabled(gp: &G) -> bool {
    assert_lock_held(&sched().lock);
    !user_disabled() || gp.ext.system.get()
}

/// Keeps `gp`, which was taken from a queue, until user goroutines may run. Returns false if `gp`
/// may run now. For [`schedule`].
#[cold]
fn hold_back(gp: &'static G) -> bool {
    lock(&sched().lock);
    let held = !sched_enabled(gp);
    if held {
        sched().disable.runnable.push_back(gp);
        sched().disable.n.set(sched().disable.n.get() + 1);
    }
    unlock(&sched().lock);
    held
}
