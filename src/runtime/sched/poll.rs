//! What an M looks at besides its own queue and the global one: timers, other P's, from which it
//! steals, and the poller, in which it sleeps until the next timer is due. Go's `checkTimers`,
//! `stealWork`, `checkTimersNoP`, `wakeNetPoller`, `pollWork` and the end of `findRunnable`.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::nanotime;
use crate::runtime::base::rand::cheaprand;
use crate::runtime::base::this::{acquirem, getm, releasem, this_m};
use crate::runtime::data::ext::OwesWake;
use crate::runtime::data::gqueue::GList;
use crate::runtime::data::runtime2::{G, GRUNNABLE, GWAITING, M, P, sched};
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::g::status::casgstatus;
use crate::runtime::lock::{lock, unlock};
#[cfg(pthreads)]
use crate::runtime::m::sigmask::leave_signals;
use crate::runtime::m::startm::stopm;
use crate::runtime::netpoll::epoll::{netpoll, netpoll_break};
use crate::runtime::netpoll::{netpoll_adjust_waiters, netpoll_any_waiters, netpollinited};
use crate::runtime::p::owner::{acquirep, pidleget};
use crate::runtime::p::procs::{Procs, procs};
use crate::runtime::p::runq::{runqempty, runqget, runqsteal};
use crate::runtime::p::timer_heap::{adjusttimers, clear_deleted_timers, nobarrier_wake_time, runtimer};
use crate::runtime::sched::ready::injectglist;
use crate::runtime::sched::wake::{wake_or_owe, wakep};

/// How many times a thief visits all P's.
pub(super) const STEAL_TRIES: u32 = 4;

/// What [`check_timers`] has found.
pub(super) struct Checked {
    /// The time, 0 if it wasn't needed.
    pub(in crate::runtime) now: i64,
    /// When the next timer is due, 0 if there is none.
    pub(in crate::runtime) poll_until: i64,
    /// Whether a timer has run.
    pub(in crate::runtime) ran: bool,
}

/// Runs the timers of `pp` that are due, for `mp`, which has the P. Each round of the scheduler
/// calls it, so it costs next to nothing if there are no timers.
#[inline(always)]
pub(super) fn check_own_timers(mp: &M, pp: &'static P) {
    // A heap that isn't empty has a first timer, modified ones or not.
    if pp.timer0_when.load(Ordering::Relaxed) != 0 {
        check_timers(mp, pp, 0);
    }
}

/// Whether [`check_own_timers`] has something to do.
#[inline(always)]
pub(super) fn own_timers_due(pp: &P) -> bool {
    pp.timer0_when.load(Ordering::Relaxed) != 0 && (nobarrier_wake_time(pp) <= nanotime() || many_deleted(pp))
}

/// Whether more than a quarter of the timers of `pp` were deleted, and are to be taken out.
fn many_deleted(pp: &P) -> bool {
    pp.deleted_timers.load(Ordering::Relaxed) > pp.num_timers.load(Ordering::Relaxed) / 4
}

/// Runs the timers of `pp` that are due. `now` is the time, or 0. `mp` is this thread's M. Go's
/// `checkTimers`.
#[inline(never)]
pub(super) fn check_timers(mp: &M, pp: &'static P, now: i64) -> Checked {
    let next = nobarrier_wake_time(pp);
    if next == 0 {
        return Checked { now, poll_until: 0, ran: false };
    }
    let now = if now == 0 { nanotime() } else { now };
    // Only for its own P: less contention for the lock.
    let own = mp.p().is_some_and(|mine| std::ptr::eq(mine, pp));
    let many_deleted = || own && many_deleted(pp);
    if now < next && !many_deleted() {
        return Checked { now, poll_until: next, ran: false };
    }
    let mut ran = false;
    lock(&pp.timers_lock);
    if pp.timers.len.get() > 0 {
        adjusttimers(pp, now);
        while runtimer(pp, now) {
            ran = true;
        }
    }
    if many_deleted() {
        clear_deleted_timers(pp);
    }
    unlock(&pp.timers_lock);
    Checked { now, poll_until: nobarrier_wake_time(pp), ran }
}

/// The earlier of two times, where 0 is no time.
pub(super) fn earlier(a: i64, b: i64) -> i64 {
    if a == 0 || (b != 0 && b < a) { b } else { a }
}

/// What [`steal_work`] has found.
pub(super) enum Stolen {
    /// A goroutine, and whether it inherits the time slice.
    Work(&'static G, bool),
    /// Timers have run, so there may be work elsewhere.
    Again,
    /// Nothing to do before `poll_until`, when a timer is due; 0 if there is none.
    Nothing {
        /// In nanoseconds.
        poll_until: i64,
    },
}

/// Takes work from another P, visiting the P's in a random order in each of `tries` rounds; `pp`,
/// which `mp` has, has no work. Only the last round also runs their timers, and takes a `runnext`,
/// which its owner would run next. Go's `stealWork`.
pub(super) fn steal_work(mp: &M, pp: &'static P, tries: u32) -> Stolen {
    let procs = procs();
    let (mut now, mut poll_until, mut ran_timer) = (0, 0, false);
    for i in 0..tries {
        let steal_timers_or_run_next_g = i == tries - 1;
        let mut order = procs.steal_order.start(cheaprand());
        while !order.done() {
            let p2 = procs.allp[order.position() as usize];
            order.next();
            if std::ptr::eq(pp, p2) {
                continue;
            }
            if steal_timers_or_run_next_g && procs.timerp_mask.read(p2.id.get()) {
                let checked = check_timers(mp, p2, now);
                now = checked.now;
                poll_until = earlier(poll_until, checked.poll_until);
                if checked.ran {
                    // A goroutine that a timer has made ready is on our queue, and runqsteal
                    // requires an empty queue.
                    if let Some((gp, inherit_time)) = runqget(pp.local()) {
                        return Stolen::Work(gp, inherit_time);
                    }
                    ran_timer = true;
                }
            }
            if !procs.idlep_mask.read(p2.id.get())
                && let Some(gp) = runqsteal(pp.local(), p2.steal(), steal_timers_or_run_next_g)
            {
                if steal_timers_or_run_next_g {
                    // The goroutine may be from runnext. Then the owner may be about to move the G
                    // that was there before to its ring, and an M that looks now may miss that G.
                    mp.ext.owes_wake.set(OwesWake::Yes);
                }
                return Stolen::Work(gp, false);
            }
        }
    }
    if ran_timer { Stolen::Again } else { Stolen::Nothing { poll_until } }
}

/// Returns when the first timer of any P is due, or `poll_until` if that is earlier. For an M
/// without a P. Go's `checkTimersNoP`.
pub(super) fn check_timers_no_p(procs: &Procs, poll_until: i64) -> i64 {
    let with_timers = procs.allp.iter().filter(|pp| procs.timerp_mask.read(pp.id.get()));
    with_timers.map(|pp| nobarrier_wake_time(pp)).fold(poll_until, earlier)
}

/// Makes sure that an M notices a timer that is due at `when`: ends the poll in progress if the
/// poll would last longer, or wakes a P if no M polls. Go's `wakeNetPoller`.
///
/// The timer is noted before this call. An M that goes to sleep looks for timers after it has
/// stopped spinning, and once more by way of `lastpoll`. All of these accesses are sequentially
/// consistent, so one of the two sees the other. `loom` checks it on this file (`tests/loom`).
pub(in crate::runtime) fn wake_net_poller(when: i64) {
    if !end_longer_poll(when) {
        wake_or_owe(this_m());
    }
}

/// Returns whether an M waits in the poller. If the M would wait there until after `when`, its wait
/// ends now, and it looks at all timers again.
pub(super) fn end_longer_poll(when: i64) -> bool {
    // SeqCst: the caller has noted a timer before, see wake_net_poller.
    let polls = sched().lastpoll.load(Ordering::SeqCst) == 0;
    if polls {
        end_poll_after(when);
    }
    polls
}

/// Ends the poll in progress, unless it ends by `when`.
fn end_poll_after(when: i64) {
    // 0 until the poller has noted how long it waits: then this may wake it in vain. SeqCst: see
    // `Schedt::poll_until`.
    let poller_poll_until = sched().poll_until.load(Ordering::SeqCst);
    if poller_poll_until == 0 || poller_poll_until > when {
        netpoll_break();
    }
}

/// Starts polling for a descriptor that no parking goroutine waits for. A caller without a P makes
/// sure that an M polls. An M that has a P polls when it next looks for work.
///
/// The wait is counted before this call. An M that is about to sleep lets its P go, and then looks
/// at the count ([`poll_or_stop`]). So one of the two sees the other, as in [`wake_net_poller`],
/// and `loom` checks that, too.
pub(in crate::runtime) fn wake_net_poller_from_outside() {
    let mp = acquirem();
    // SeqCst: the caller has counted the wait before, see `Schedt::lastpoll`.
    if mp.is_none_or(|mp| mp.p().is_none()) && sched().lastpoll.load(Ordering::SeqCst) != 0 {
        wakep();
    }
    releasem(mp);
}

/// Whether it makes sense to poll without waiting: a goroutine waits for the network, and no M
/// waits in the poller.
#[inline(always)]
pub(in crate::runtime) fn worth_polling() -> bool {
    // SeqCst: see `Schedt::lastpoll`.
    netpollinited() && netpoll_any_waiters() && sched().lastpoll.load(Ordering::SeqCst) != 0
}

/// Makes runnable the goroutines whose descriptors are ready, and returns whether there were any.
/// Doesn't wait.
pub(in crate::runtime) fn inject_polled() -> bool {
    let (list, delta) = netpoll(0);
    let any = !list.empty();
    injectglist(&list);
    netpoll_adjust_waiters(delta);
    any
}

/// An M polls without waiting. Go 1.27's `sched.pollingNet`.
static POLLING_NET: AtomicBool = AtomicBool::new(false);

/// Returns a goroutine whose descriptor is ready. None if there is none, or if another M is asking
/// the kernel: several M's that ask at once would only wait for each other there. Doesn't wait.
/// Part of Go's `findRunnable`.
#[inline(never)]
pub(super) fn poll_now() -> Option<&'static G> {
    // Relaxed: an M that is kept out misses nothing. The M that waits in the poller at last asks in
    // any case.
    if !worth_polling() || POLLING_NET.swap(true, Ordering::Relaxed) {
        return None;
    }
    let (list, delta) = netpoll(0);
    POLLING_NET.store(false, Ordering::Relaxed);
    first_polled(&list, delta)
}

/// The first of the goroutines that [`netpoll`] has returned, to be run here; the others become
/// runnable. Part of Go's `findRunnable`.
fn first_polled(list: &GList, delta: i32) -> Option<&'static G> {
    let first = list.pop();
    injectglist(list);
    netpoll_adjust_waiters(delta);
    let gp = first?;
    casgstatus(gp, GWAITING, GRUNNABLE);
    trace(|| Event::GoUnpark(gp));
    Some(gp)
}

/// Waits until there is something to do, for an M without a P. If no other M is in the poller, the
/// M waits there, until the next timer is due; otherwise it waits until it is woken. Returns with a
/// P. The last part of Go's `findRunnable`.
///
/// `procs` is the table that the M has read while it had a P. `poll_until` is the time of the next
/// timer that the M knows of, or 0.
#[inline(never)]
pub(super) fn poll_or_stop(
    mp: &'static M,
    procs: &Procs,
    mut poll_until: i64,
    was_spinning: bool,
) -> Option<&'static G> {
    if was_spinning {
        // As drop_p looks for work again: a timer may have been set while this M was looking.
        poll_until = check_timers_no_p(procs, poll_until);
    }
    let to_poll = netpollinited() && (netpoll_any_waiters() || poll_until != 0);
    // SeqCst: the swap comes before the look at the waits below, and pairs with wake_net_poller and
    // netpoll_adjust_waiters. See `Schedt::lastpoll`.
    if to_poll && sched().lastpoll.swap(0, Ordering::SeqCst) != 0 {
        sched().poll_until.store(poll_until, Ordering::SeqCst);
        if !mp.p.is_null() {
            throw("findrunnable: netpoll with p");
        }
        if mp.spinning.get() {
            throw("findrunnable: netpoll with spinning");
        }
        let delay = match poll_until {
            // The thread that ended the last wait may not have seen that an M polls. Either that
            // thread sees `lastpoll`, or this M sees that no goroutine waits.
            0 if !netpoll_any_waiters() => 0,
            0 => -1,
            _ => (poll_until - nanotime()).max(0),
        };
        #[cfg(pthreads)]
        leave_signals(mp);
        let (list, delta) = netpoll(delay);
        // In this order: a thread that finds a 0 in `lastpoll` then finds no time of an earlier
        // poll.
        sched().poll_until.store(0, Ordering::SeqCst);
        sched().lastpoll.store(nanotime(), Ordering::SeqCst);
        lock(&sched().lock);
        let pp = pidleget();
        unlock(&sched().lock);
        let Some(pp) = pp else {
            injectglist(&list);
            netpoll_adjust_waiters(delta);
            stopm(mp);
            return None;
        };
        acquirep(mp, pp);
        let first = first_polled(&list, delta);
        if first.is_none() && was_spinning {
            mp.become_spinning();
        }
        return first;
    }
    if to_poll && poll_until != 0 {
        // Another M polls, and may wait for longer than this timer.
        end_poll_after(poll_until);
    }
    stopm(mp);
    None
}

/// Whether there is work for this P; if so, background work should step aside. Go's `pollWork`.
pub(crate) fn poll_work() -> bool {
    sched().runqsize.load(Ordering::Relaxed) != 0
        || getm().p.peek().is_some_and(|pp| !runqempty(pp.steal()))
        || worth_polling() && inject_polled()
}
