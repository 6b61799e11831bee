//! Waking P's, and letting P's go: Go's `wakep`, `resetspinning`, and the "delicate dance" at the
//! end of `findRunnable`.
//!
//! # The problem
//!
//! Work is in many places (each P's queue, the global queue), and no thread sees all of them at
//! once. Yet no P may stay idle while there is work, and no thread should be woken in vain.
//!
//! # The rules
//!
//! An M is *spinning* if it has a P but no work, and looks for work in the queues of others.
//! `sched.nmspinning` counts the spinning M's. A count belongs to an M whose `spinning` is set, or
//! it is a [`Spinning`]: a thread that wakes an M has counted the M before, and hands the count
//! over.
//!
//! - A thread that submits work wakes a P ([`wakep`]), unless an M is spinning already, or no P is
//!   idle. The M that it wakes starts spinning.
//! - A spinning M that finds work stops spinning. If it was the last spinner and there is more
//!   work, it wakes another M in its place ([`resetspinning`]).
//! - A spinning M that finds no work lets its P go ([`drop_p`]) and sleeps.
//! - An M in the scheduler may run timers that make goroutines ready. It owes the wake until it
//!   knows what it will run itself ([`wake_or_owe`]).
//!
//! So a burst of work wakes threads one after the other, each when the one before has found work,
//! and at most one of them in vain.
//!
//! Go's `resetspinning` wakes another M each time. As a rule that M finds nothing and sleeps again,
//! which costs two useless switches of threads for each timer and each goroutine that an idle P
//! wakes for. Here the M first looks where the other M would look. Like a spinner that gives up, it
//! can't miss a submitter (the first race below): it stops spinning, and then looks at the queues.
//!
//! # The two races
//!
//! *A submission, and the last spinner that gives up.* The submitter sees a spinner and wakes no M;
//! the spinner has looked everywhere before the work was there. So each writes first, and then
//! looks:
//!
//! ```text
//!     submitter                    spinner
//!       put work on a queue          nmspinning -= 1
//!       barrier                      barrier
//!       nmspinning == 0? wake        look at all queues again
//! ```
//!
//! With the barriers, one of the two sees the other. They cost nothing: the CAS on `runnext`, the
//! decrement and the reads after them are sequentially consistent. For the global queue, the lock
//! is enough: the second thread to take it sees what the first one has done before.
//!
//! *A submission, and an M that gives up without having spun.* The number of spinning M's is
//! limited to half the number of busy P's, so an M may let its P go without a second look. If work
//! is submitted just before, the submitter finds no idle P and wakes no M. So a submitter that
//! wanted a P and got none sets `sched.needspinning`, under the lock. An M that finds the flag set,
//! under the same lock, keeps its P and becomes a spinner.
//!
//! Timers are work too. A thread that sets one looks for a spinner in the same way
//! (`wake_net_poller`), and a spinner that gives up looks at all timers once more before it sleeps
//! (`poll_or_stop`).
//!
//! `loom` checks both on this file (`tests/loom`); without the second look, or without
//! `needspinning`, its models fail.

use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::nanotime;
use crate::runtime::base::this::{acquirem, releasem, with_room};
use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::ext::OwesWake;
use crate::runtime::data::runtime2::{G, M, P, sched};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::spinning::Spinning;
use crate::runtime::m::startm::startm;
use crate::runtime::m::turn::turns_waiting;
use crate::runtime::p::owner::{acquirep, pidleget_spinning, pidleput, releasep};
use crate::runtime::p::procs::{Procs, procs};
use crate::runtime::p::runq::{globrunqget, runqempty};
use crate::runtime::p::stop::asked_to_stop;
use crate::runtime::preempt::ask::FORCE_PREEMPT_NS;
use crate::runtime::sched::poll::{check_timers_no_p, end_longer_poll, worth_polling};

/// Starts one more P, if there is an idle one and no M is looking for work already. Called after
/// work was submitted. Go's `wakep`.
#[inline]
pub(in crate::runtime) fn wakep() {
    // Comes after the caller's CAS on runnext, its use of sched.lock, or its note of a timer. Pairs
    // with the decrement in `stop_spinning`, before the looks in drop_p. SeqCst: see
    // `Schedt::nmspinning`.
    if sched().nmspinning.load(Ordering::SeqCst) != 0 {
        return;
    }
    // No P is idle, and the next M that lets its P go was told to look again: wakep_slow would only
    // tell it again. SeqCst: see `Schedt::npidle` and `Schedt::needspinning`.
    if sched().npidle.load(Ordering::SeqCst) == 0 && sched().needspinning.load(Ordering::SeqCst) == 1 {
        return;
    }
    // Making a thread takes more stack than a copying goroutine has.
    with_room(wakep_slow);
}

#[cold]
#[inline(never)]
fn wakep_slow() {
    // The goroutine must not lose its P and wait for another while it holds the P to be started.
    let mp = acquirem();
    // One thread at a time: the count is the right to wake.
    let Some(spinning) = Spinning::first() else { return releasem(mp) };
    lock(&sched().lock);
    let Some(pp) = pidleget_spinning() else {
        spinning.uncount();
        unlock(&sched().lock);
        return releasem(mp);
    };
    unlock(&sched().lock);
    startm(Some(pp), Some(spinning));
    releasem(mp);
}

/// [`wakep`], but if `mp`, this thread's M, is in the scheduler, the wake is put off until the M
/// has found what it runs next.
#[inline(always)]
pub(super) fn wake_or_owe(mp: Option<&M>) {
    match mp {
        Some(mp) if mp.curg.is_null() && !mp.p.is_null() => mp.ext.owes_wake.set(OwesWake::IfNeeded),
        _ => wakep(),
    }
}

/// [`resetspinning`], if `mp` spins or owes a wake. For an M that has found work, or gives its P
/// away.
#[inline(always)]
pub(super) fn pay_wakes(mp: &M) {
    if mp.spinning.get() || mp.ext.owes_wake.get() != OwesWake::No {
        resetspinning(mp);
    }
}

/// Stops the spinning of `mp`, and pays the wake that it owes, if there is anything for another M
/// to do. For an M that has found work, and spins or owes a wake. Go's `resetspinning`, which wakes
/// in any case.
pub(super) fn resetspinning(mp: &M) {
    let surely = mp.ext.owes_wake.replace(OwesWake::No) == OwesWake::Yes;
    if mp.spinning.get() {
        mp.stop_spinning();
    }
    // Comes after the decrement in stop_spinning, and before the looks below: the first race above.
    if sched().nmspinning.load(Ordering::SeqCst) != 0 {
        // Another M spins, and looks before it gives up, so wakep would wake no M. The lock isn't
        // taken for that, as all M's would want it.
        return;
    }
    // If no P is idle, wakep only makes the next M that lets a P go look again. SeqCst: see
    // `Schedt::npidle`.
    let nobody = sched().npidle.load(Ordering::SeqCst) == 0;
    // worth_polling: goroutines wait for descriptors, and no M polls and would find them.
    if surely || nobody || worth_polling() || is_work_left(procs()) || is_timer_left(procs()) {
        wakep();
    }
}

/// Whether there is a goroutine on any queue. The lock is needed for the global queue: this sees an
/// earlier submission to it, and a later submitter sees that no M spins.
fn is_work_left(procs: &Procs) -> bool {
    lock(&sched().lock);
    let global = sched().runqsize.load(Ordering::Relaxed) != 0;
    unlock(&sched().lock);
    global || has_work(procs)
}

/// Whether a timer would be late if this M ran a goroutine to the end of its time slice, and no M
/// waits for it in the poller.
fn is_timer_left(procs: &Procs) -> bool {
    let next = check_timers_no_p(procs, 0);
    next != 0 && next < nanotime() + FORCE_PREEMPT_NS && !end_longer_poll(next)
}

/// How [`drop_p`] ended.
pub(super) enum Dropped {
    /// There was work after all; the M has a P.
    Run(&'static G),
    /// There may be work; the M has a P and looks again.
    Again,
    /// The M has no P and nothing to do.
    Stop,
}

/// Lets `pp` go, for an M that has found no work: the last part of Go's `findRunnable`, with its
/// "delicate dance". `procs` is the table in use, which this reads when the P is gone.
pub(super) fn drop_p(mp: &'static M, pp: &'static P, procs: &Procs) -> Dropped {
    lock(&sched().lock);
    if asked_to_stop(pp) {
        unlock(&sched().lock);
        return Dropped::Again;
    }
    if sched().runqsize.load(Ordering::Relaxed) != 0 {
        let gp = globrunqget(pp.local(), 0);
        unlock(&sched().lock);
        return gp.map_or(Dropped::Again, Dropped::Run);
    }
    if turns_waiting() {
        unlock(&sched().lock);
        return Dropped::Again;
    }
    // SeqCst: see `Schedt::needspinning`.
    if !mp.spinning.get() && sched().needspinning.load(Ordering::SeqCst) == 1 {
        // The second race above: a submitter wanted this P when it wasn't idle yet.
        mp.become_spinning();
        unlock(&sched().lock);
        return Dropped::Again;
    }
    if !std::ptr::eq(releasep(mp), pp) {
        throw("findrunnable: wrong p");
    }
    pidleput(pp);
    unlock(&sched().lock);
    // The M owes no wake any more: a goroutine that it had made ready would be on its queue, and
    // the M itself now waits for its timers.
    mp.ext.owes_wake.set(OwesWake::No);

    if !mp.spinning.get() {
        return Dropped::Stop;
    }
    // The first race above: stop spinning, and then look at everything again. Strictly, only the
    // last M that stops has to look. But wakep counts as spinning for a moment without an M that
    // spins, so each M looks.
    mp.stop_spinning();

    lock(&sched().lock);
    if sched().runqsize.load(Ordering::Relaxed) != 0
        && let Some(pp) = pidleget_spinning()
    {
        let gp = globrunqget(pp.local(), 0);
        unlock(&sched().lock);
        acquirep(mp, pp);
        mp.become_spinning();
        return match gp {
            Some(gp) => Dropped::Run(gp),
            None => throw("global runq empty with non-zero runqsize"),
        };
    }
    unlock(&sched().lock);

    if let Some(pp) = check_runqs_no_p(procs) {
        acquirep(mp, pp);
        // Spinning again, so that resetspinning wakes a P for other work.
        mp.become_spinning();
        return Dropped::Again;
    }
    Dropped::Stop
}

/// Looks for work on every P's queue, for an M without a P. If there is work, and an idle P,
/// returns that P. Go's `checkRunqsNoP`.
fn check_runqs_no_p(procs: &Procs) -> Option<&'static P> {
    if !has_work(procs) {
        return None;
    }
    lock(&sched().lock);
    let pp = pidleget_spinning();
    unlock(&sched().lock);
    pp
}

/// Whether there is a goroutine on the queue of a P.
fn has_work(procs: &Procs) -> bool {
    procs.allp.iter().any(|pp| !procs.idlep_mask.read(pp.id.get()) && !runqempty(pp.steal()))
}
