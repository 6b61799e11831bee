//! Requests to P's: to stop (Go's `preemptall`), with the count of the P's that have stopped; to
//! run a function (`runSafePointFn`); and to run no other goroutine, in a child of `fork`. Also
//! takes a P from an M in a system call.

use std::sync::atomic::Ordering;

use crate::runtime::base::debug::detach_on;
use crate::runtime::base::print::eprintln;
use crate::runtime::base::this::this_m;
use crate::runtime::data::runtime2::{P, PGCSTOP, PRUNNING, PSYSCALL, sched};
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::lock::note::notewakeup;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::p::owner::begin_slice;
use crate::runtime::p::procs::procs;
use crate::runtime::preempt::ask::{Asked, ask_by_signal, other_m, preemptone};

/// How many nanoseconds a stopper waits before it asks the P's to stop again, as a request can be
/// missed.
pub(in crate::runtime) const ASK_AGAIN_NS: i64 = 100 * 1000;

/// `sched.stopwait` while a fatal error is being reported: no M may get a P. Go's `freezeStopWait`.
pub(in crate::runtime) const FREEZE_STOP_WAIT: i32 = 0x7fff_ffff;

/// [`proc::preemptall`](crate::proc::preemptall), on g0. Go's `preemptall`.
pub(crate) fn preemptall() -> bool {
    let mut any = false;
    for pp in &procs().allp {
        if pp.status.load(Ordering::Relaxed) == PRUNNING {
            any |= preemptone(pp);
        }
    }
    any
}

/// Asks all goroutines that can't be stopped to let their P's go. For a caller that needs all P's
/// and has waited for them.
pub(in crate::runtime) fn detachall() {
    for pp in procs().allp.iter().filter(|pp| detach_on() && pp.status.load(Ordering::Relaxed) == PRUNNING) {
        let schedtick = pp.schedtick.load(Ordering::Relaxed);
        if let Some(mp) = other_m(pp) {
            ask_by_signal(mp, Asked::Detach, schedtick);
        }
    }
}

/// Whether `pp`'s M has something to do before it runs another goroutine: the world is to be
/// stopped, or a function to be run.
#[inline(always)]
pub(in crate::runtime) fn asked_to_stop(pp: &P) -> bool {
    // SeqCst: see `Schedt::gcwaiting` and `P::run_safe_point_fn`.
    sched().gcwaiting.load(Ordering::SeqCst) || pp.run_safe_point_fn.load(Ordering::SeqCst) != 0
}

/// Counts `pp`, which the caller owns, as stopped. `sched.lock` is held.
pub(in crate::runtime) fn stopped(pp: &P) {
    // SeqCst: see `P::status`.
    pp.status.store(PGCSTOP, Ordering::SeqCst);
    sched().stopwait.fetch_sub(1, Ordering::Relaxed);
}

/// [`stopped`] by an M that isn't the stopper: the last such M wakes the stopper. `sched.lock` is
/// held.
pub(in crate::runtime) fn stopped_for_another(pp: &P) {
    stopped(pp);
    if sched().stopwait.load(Ordering::Relaxed) == 0 {
        notewakeup(&sched().stopnote);
    }
}

/// Takes `pp` from an M in a system call, and leaves it in state `to`. Returns false if the P's M
/// isn't in a system call.
pub(in crate::runtime) fn take_from_syscall(pp: &P, to: u32) -> bool {
    // SeqCst: see `P::status`. A stopper has set `gcwaiting` before.
    let taken = pp.status.compare_exchange(PSYSCALL, to, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    if taken {
        if tell_taken(pp) {
            // Otherwise sysmon would charge the slice that has ended to the M that gets the P next.
            begin_slice(pp);
        }
        tick(pp);
    }
    taken
}

/// Tells the tracer that `pp`, now the caller's, was taken from an M. Returns whether that M was
/// detached from the P.
pub(in crate::runtime) fn tell_taken(pp: &P) -> bool {
    let detached = !pp.ext.detached_from.is_null();
    pp.ext.detached_from.set(None);
    trace(|| if detached { Event::ProcDetach(pp) } else { Event::ProcSteal(pp) });
    detached
}

/// Counts a system call of `pp`.
#[inline(always)]
pub(in crate::runtime) fn tick(pp: &P) {
    pp.syscalltick.store(pp.syscalltick.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// Runs the function for `pp`, this M's P, unless another thread has run it. To be called on g0,
/// wherever the state of a P whose mark is set is about to change. Go's `runSafePointFn`.
#[cold]
pub(in crate::runtime) fn run_safe_point_fn(pp: &P) {
    if !claim(pp) {
        return;
    }
    if let Some(f) = sched().safe_point_fn.get() {
        f(pointer(pp));
    }
    lock(&sched().lock);
    ran();
    unlock(&sched().lock);
}

/// Runs the function for `pp`, which no M has, unless another thread has run it. `sched.lock` is
/// held.
pub(in crate::runtime) fn run_safe_point_fn_locked(pp: &P) {
    // SeqCst: see `P::run_safe_point_fn`.
    if pp.run_safe_point_fn.load(Ordering::SeqCst) != 0
        && claim(pp)
        && let Some(f) = sched().safe_point_fn.get()
    {
        f(pointer(pp));
        ran();
    }
}

/// Takes the right to run the function for `pp`, if it is still to be run. Pairs with the store of
/// the mark in `for_each_p`, so the thread that gets the right sees the function.
pub(in crate::runtime) fn claim(pp: &P) -> bool {
    pp.run_safe_point_fn.compare_exchange(1, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

/// The P as an argument of the function.
pub(in crate::runtime) fn pointer(pp: &P) -> *mut P {
    std::ptr::from_ref(pp).cast_mut()
}

/// Subtracts one P from those to wait for; the last one wakes the caller of `for_each_p`.
/// `sched.lock` is held.
fn ran() {
    sched().safe_point_wait.set(sched().safe_point_wait.get() - 1);
    if sched().safe_point_wait.get() == 0 {
        notewakeup(&sched().safe_point_note);
    }
}

/// [`P::run_safe_point_fn`] in a child of `fork`: the P is asked to stop, and there is no function
/// to run.
const FORKED: u32 = 2;

/// Makes each child of `fork` mark the P of its thread: see [`end_if_forked`]. The child has one
/// thread, and copies of the parent's queues. A goroutine that let others run there would run
/// goroutines that the parent runs, too.
pub(in crate::runtime) fn mark_children_of_fork() {
    unsafe extern "C" fn mark_p() {
        // No thread takes the P meanwhile, because the child has no sysmon.
        if let Some(pp) = this_m().and_then(|mp| mp.p.peek()) {
            pp.run_safe_point_fn.store(FORKED, Ordering::Relaxed);
        }
    }
    // SAFETY: the handler reads thread-locals and stores to an atomic. If there is no memory to
    // register it, children aren't marked.
    unsafe { libc::pthread_atfork(None, None, Some(mark_p)) };
}

/// Ends the process if it is a child of `fork`. Called when `pp` is about to run another goroutine.
pub(in crate::runtime) fn end_if_forked(pp: &P) {
    if pp.run_safe_point_fn.load(Ordering::Relaxed) == FORKED {
        eprintln!(
            "fatal error: a goroutine waits, yields or ends in a child of fork, where no other can run: \
             the child may call exec or _exit"
        );
        // SAFETY: it ends this process, without the parent's handlers of exit.
        unsafe { libc::_exit(2) };
    }
}
