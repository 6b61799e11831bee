//! Running a function on every P, without stopping the world: Go's `forEachP`.

use std::sync::atomic::Ordering;

use crate::runtime::arch::systemstack_scannable;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::{acquirem, releasem};
use crate::runtime::data::runtime2::{GRUNNING, M, P, PIDLE, WaitReason, sched};
use crate::runtime::g::status::{cas_g_from_waiting, cas_g_to_waiting};
use crate::runtime::lock::note::{noteclear, notetsleep};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::p::procs::{gomaxprocs, procs};
use crate::runtime::p::stop::{ASK_AGAIN_NS, claim, detachall, pointer, preemptall, take_from_syscall};
use crate::runtime::sched::detach::hold_with_p;
use crate::runtime::sched::entersyscall::handoffp;
use crate::runtime::sema::semacquire::{semacquire, semrelease};
use crate::runtime::world::stw::WORLDSEMA;

/// [`proc::for_each_p`](crate::proc::for_each_p) without the check of the stack. Go's `forEachP`,
/// whose caller must hold `worldsema`.
pub(crate) fn for_each_p(reason: WaitReason, f: fn(*mut P)) {
    semacquire(&WORLDSEMA);
    let (gp, mp, held) = hold_with_p();
    systemstack_scannable(|| {
        // The status is waiting, for the reason given in stop_the_world.
        cas_g_to_waiting(gp, GRUNNING, reason);
        for_each_p_internal(mp, f);
        cas_g_from_waiting(gp);
    });
    drop(held);
    semrelease(&WORLDSEMA);
}

/// [`for_each_p`] on g0. Go's `forEachPInternal`.
fn for_each_p_internal(mp: &'static M, f: fn(*mut P)) {
    let locked = acquirem();
    let Some(mine) = mp.p() else { throw("forEachP: no p") };
    lock(&sched().lock);
    if sched().safe_point_wait.get() != 0 {
        throw("forEachP: sched.safePointWait != 0");
    }
    sched().safe_point_wait.set(gomaxprocs() - 1);
    sched().safe_point_fn.set(Some(f));
    let others = || procs().allp.iter().copied().filter(|pp| !std::ptr::eq(*pp, mine));
    // SeqCst: see `P::run_safe_point_fn`.
    others().for_each(|pp| pp.run_safe_point_fn.store(1, Ordering::SeqCst));
    preemptall();
    // From here on, an M that makes its P idle, or leaves it in a system call, sees the P's mark.
    // Idle P's stay idle while the lock is held.
    let mut idle = sched().pidle.get();
    while let Some(pp) = idle {
        if claim(pp) {
            f(pointer(pp));
            sched().safe_point_wait.set(sched().safe_point_wait.get() - 1);
        }
        idle = pp.link.get();
    }
    let wait = sched().safe_point_wait.get() > 0;
    unlock(&sched().lock);

    f(pointer(mine));
    // Takes a P that was left in a system call before, or that a goroutine has lost. Then handoffp
    // or the next M runs the function.
    let take = || {
        for pp in others() {
            // SeqCst: see `P::run_safe_point_fn`.
            if pp.run_safe_point_fn.load(Ordering::SeqCst) == 1 && take_from_syscall(pp, PIDLE) {
                handoffp(pp);
            }
        }
    };
    take();
    if wait {
        while !notetsleep(&sched().safe_point_note, ASK_AGAIN_NS) {
            preemptall();
            detachall();
            take();
        }
        noteclear(&sched().safe_point_note);
    }

    if sched().safe_point_wait.get() != 0 {
        throw("forEachP: not done");
    }
    // SeqCst: see `P::run_safe_point_fn`.
    if procs().allp.iter().any(|pp| pp.run_safe_point_fn.load(Ordering::SeqCst) != 0) {
        throw("forEachP: P did not run fn");
    }
    lock(&sched().lock);
    sched().safe_point_fn.set(None);
    unlock(&sched().lock);
    releasem(locked);
}
