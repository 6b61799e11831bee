//! Making goroutines runnable by the list, or from a thread without a P: Go's `injectglist`.

use crate::lock::{lock, unlock};
use crate::proc::global::globrunqputbatch;
use crate::proc::gqueue::{GList, GQueue};
use crate::proc::m::{acquirem, getm, releasem, this_p};
use crate::proc::runq::{runqempty, runqputbatch};
use crate::proc::startstop::startm;
use crate::proc::status::casgstatus;
use crate::proc::timers::{inject_polled, worth_polling};
use crate::proc::trace::{Event, trace};
use crate::proc::wake::pidleget_spinning;
use crate::runtime2::{GRUNNABLE, GWAITING, sched};
use std::sync::atomic::Ordering;

/// Makes the waiting G's of `list` runnable, and empties it. With a P: one G for each idle P
/// goes to the global queue, and those P's are started; the rest goes to the local queue.
/// Without a P: all go to the global queue. Go's `injectglist`.
pub(crate) fn injectglist(list: &GList) {
    let q = GQueue::default();
    let mut qsize = 0;
    while let Some(gp) = list.pop() {
        casgstatus(gp, GWAITING, GRUNNABLE);
        trace(|| Event::GoUnpark(gp));
        q.push_back(gp);
        qsize += 1;
    }
    inject_runnable(&q, qsize);
}

/// [`injectglist`] for G's that are runnable already.
pub(crate) fn inject_runnable(q: &GQueue, mut qsize: i32) {
    if q.empty() {
        return;
    }
    let Some(pp) = this_p() else {
        lock(&sched().lock);
        globrunqputbatch(q, qsize);
        unlock(&sched().lock);
        start_idle(qsize);
        return;
    };
    let global = GQueue::default();
    let mut n = 0;
    while n < sched().npidle.load(Ordering::SeqCst)
        && let Some(gp) = q.pop()
    {
        global.push_back(gp);
        n += 1;
    }
    if n > 0 {
        lock(&sched().lock);
        globrunqputbatch(&global, n);
        unlock(&sched().lock);
        start_idle(n);
        qsize -= n;
    }
    if !q.empty() {
        runqputbatch(pp, q, qsize);
    }
}

/// Starts up to `n` idle P's.
fn start_idle(n: i32) {
    for _ in 0..n {
        let mp = acquirem();
        lock(&sched().lock);
        let pp = pidleget_spinning();
        if pp.is_some() {
            startm(pp, false, true);
        }
        unlock(&sched().lock);
        releasem(mp);
        if pp.is_none() {
            break;
        }
    }
}

/// Whether there is work for this P; if so, background work should step aside. Go's `pollWork`.
pub(crate) fn poll_work() -> bool {
    sched().runqsize.load(Ordering::Relaxed) != 0
        || getm().p.get().is_some_and(|pp| !runqempty(pp))
        || worth_polling() && inject_polled()
}
