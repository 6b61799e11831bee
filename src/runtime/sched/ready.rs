//! Making goroutines runnable, new ones and those that wait: [`enqueue`], the last step of Go's
//! `newproc`; Go's `goready`, `ready` and `injectglist`; and [`ready_last`].

use std::sync::atomic::Ordering;

use crate::runtime::arch::tsan;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::{acquirem, releasem};
use crate::runtime::data::gqueue::{GList, GQueue};
use crate::runtime::data::runtime2::{G, GRUNNABLE, GSCAN, GWAITING, M, sched};
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::g::explored::{exploring, note_woken_outside};
use crate::runtime::g::status::{casgstatus, dumpgstatus, readgstatus};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::startm::startm;
use crate::runtime::p::owner::pidleget_spinning;
use crate::runtime::p::runq::{globrunqputbatch, runqput, runqputbatch};
use crate::runtime::sched::wake::{wake_or_owe, wakep};

/// Makes a new G run next on this P. On a thread without a P, the G goes to the end of the global
/// queue.
#[inline(always)]
pub(crate) fn enqueue(newg: &'static G) {
    tsan::release(newg);
    let mp = acquirem();
    match mp.and_then(|mp| mp.p()) {
        Some(pp) => {
            runqput(pp.local(), newg, true);
            wakep();
        }
        None => {
            let q = GQueue::default();
            q.push_back(newg);
            inject_runnable(&q, 1);
        }
    }
    releasem(mp);
}

/// [`proc::goready`](crate::proc::goready) without the check of the stack. Go's `goready`.
#[inline(never)]
pub(crate) fn goready(gp: &'static G) {
    ready(gp, true);
}

/// [`goready`], but the goroutine runs next only if `next`. Go's `ready`.
pub(in crate::runtime) fn ready(gp: &'static G, next: bool) {
    let mp = acquirem();
    ready_on(mp, gp, next);
    releasem(mp);
}

/// [`ready`] for a caller that knows its M, and keeps its P.
#[inline(always)]
pub(in crate::runtime) fn ready_on(mp: Option<&'static M>, gp: &'static G, next: bool) {
    let pp = mp.and_then(|mp| mp.p());
    if readgstatus(gp) & !GSCAN != GWAITING {
        dumpgstatus(gp);
        throw("bad g->status in ready");
    }
    tsan::release(gp);
    match pp {
        Some(pp) => {
            casgstatus(gp, GWAITING, GRUNNABLE);
            trace(|| Event::GoUnpark(gp));
            runqput(pp.local(), gp, next);
            wake_or_owe(mp);
        }
        None => {
            let list = GList::default();
            list.push(gp);
            injectglist(&list);
        }
    }
}

/// Makes the `n` waiting G's of `q` runnable, and empties `q`. They go to the end of the global
/// queue, behind all that are runnable.
#[cfg(feature = "std")]
pub(in crate::runtime) fn ready_last(q: &GQueue, n: i32) {
    q.each(|gp| {
        tsan::release(gp);
        casgstatus(gp, GWAITING, GRUNNABLE);
        trace(|| Event::GoUnpark(gp));
    });
    let mp = acquirem();
    if mp.is_some_and(|mp| mp.p().is_some()) {
        lock(&sched().lock);
        globrunqputbatch(q, n);
        unlock(&sched().lock);
        wake_or_owe(mp);
    } else {
        inject_runnable(q, n);
    }
    releasem(mp);
}

/// Makes the waiting G's of `list` runnable, and empties it. With a P, one G for each idle P goes
/// to the global queue, and those P's are started; the rest goes to the local queue. Without a P,
/// all G's go to the global queue. Go's `injectglist`.
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
pub(super) fn inject_runnable(q: &GQueue, mut qsize: i32) {
    if q.empty() {
        return;
    }
    let mp = acquirem();
    let Some(pp) = mp.and_then(|mp| mp.p()) else {
        if exploring() {
            q.each(note_woken_outside);
        }
        lock(&sched().lock);
        globrunqputbatch(q, qsize);
        unlock(&sched().lock);
        start_idle(qsize);
        releasem(mp);
        return;
    };
    let global = GQueue::default();
    let mut n = 0;
    // A hint: as many as idle P's go to the global queue. SeqCst: see `Schedt::npidle`.
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
        runqputbatch(pp.local(), q, qsize);
    }
    releasem(mp);
}

/// Starts up to `n` idle P's.
fn start_idle(n: i32) {
    for _ in 0..n {
        let mp = acquirem();
        lock(&sched().lock);
        let pp = pidleget_spinning();
        unlock(&sched().lock);
        if pp.is_some() {
            startm(pp, None);
        }
        releasem(mp);
        if pp.is_none() {
            break;
        }
    }
}
