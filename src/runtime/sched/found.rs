//! An M that has found what it runs next makes sure that another M takes over what it leaves: Go's
//! `resetspinning`.
//!
//! Go wakes another M each time, which as a rule finds nothing and sleeps again: two switches of
//! threads in vain for each timer and each goroutine that an idle P wakes for. Here the M first
//! looks at what the other M would look at. A submitter and this M can't miss each other, as where
//! a spinner gives up (`wake.rs`). A submitter puts work on a queue and then looks for spinners.
//! This M stops spinning and then looks at the queues.

use std::sync::atomic::Ordering;

use crate::runtime::base::os::nanotime;
use crate::runtime::data::ext::OwesWake;
use crate::runtime::data::runtime2::{M, sched};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::p::procs::{Procs, procs};
use crate::runtime::preempt::ask::FORCE_PREEMPT_NS;
use crate::runtime::sched::poll::{end_longer_poll, worth_polling};
use crate::runtime::sched::timers::check_timers_no_p;
use crate::runtime::sched::wake::{has_work, wakep};

/// [`resetspinning`], for an M that has found work, or gives its P away, if it spins or owes a
/// wake.
#[inline(always)]
pub(super) fn pay_wakes(mp: &M) {
    if mp.spinning.get() || mp.ext.owes_wake.get() != OwesWake::No {
        resetspinning(mp);
    }
}

/// For an M that spins, or owes a wake, and has found work. The M stops spinning and pays the wake,
/// if there is anything for another M to do. Go's `resetspinning`, which wakes in any case.
pub(super) fn resetspinning(mp: &M) {
    let surely = mp.ext.owes_wake.replace(OwesWake::No) == OwesWake::Yes;
    if mp.spinning.get() {
        mp.stop_spinning();
    }
    if sched().nmspinning.load(Ordering::SeqCst) != 0 {
        // Another M looks before it gives up, and wakep would wake nobody: don't take a lock for
        // that, which all would want.
        return;
    }
    // Where no P is idle, wakep only makes the next M that lets a P go look again.
    let nobody = sched().npidle.load(Ordering::SeqCst) == 0;
    // A goroutine that waits for a descriptor would be found by an M that polls, and none does.
    if surely || nobody || worth_polling() || is_work_left(procs()) || is_timer_left(procs()) {
        wakep();
    }
}

/// Whether there is a goroutine on any queue. The lock is for the global queue's sake: an earlier
/// submission to it is seen here, and a later submitter sees that nobody spins.
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
