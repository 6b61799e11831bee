//! What becomes of a P for which no thread can be made.
//!
//! Its work goes to the global queue, and the P to the idle list: an M that is about to sleep takes it instead
//! ([`wanted_p`]), one that sleeps in the poller is woken, and sysmon tries to make a thread again each 10 ms
//! ([`start_wanted_thread`]). If it can't, and no M is left that could do the work, the process ends.
//!
//! An M that has handed its P on counts as running until it sleeps, and may be one that does no work but its own
//! goroutine's. So who hands a P on can't tell whether somebody is left: sysmon can, which isn't counted, as it
//! looks until there is a thread or none that runs.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::runtime::base::fatal::throw;
use crate::runtime::base::print::eprintln;
use crate::runtime::base::this::this_m;
use crate::runtime::data::runtime2::{P, sched};
use crate::runtime::data::timer::MAX_WHEN;
use crate::runtime::lock::{assert_lock_held, lock, unlock};
use crate::runtime::m::checkdead::{checkdead, running};
use crate::runtime::m::count::mcount;
use crate::runtime::m::spinning::Spinning;
use crate::runtime::m::startm::startm;
use crate::runtime::m::turn::serve_turns;
use crate::runtime::netpoll::epoll::netpoll_break;
use crate::runtime::netpoll::{netpoll_any_waiters, netpollinited};
use crate::runtime::p::globrunq::globrunqputbatch;
use crate::runtime::p::idle::{pidleget, pidleput};
use crate::runtime::p::procs::{gomaxprocs, time_sleep_until};
use crate::runtime::p::runq::runqdrain;
use crate::runtime::p::stop::stopped_for_another;
use crate::runtime::p::sysmon_sleep::wake_sysmon;

/// A thread couldn't be made, and since then sysmon hasn't found that nothing waits for one. Written with
/// `sched.lock` held; Relaxed will do for a look without it, as sysmon looks again.
static WANTED: AtomicBool = AtomicBool::new(false);

/// Whether work may wait for a thread that couldn't be made.
pub(in crate::runtime) fn thread_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// No thread could be made to run `pp`: hands it and its work to the M's that there are.
#[cold]
pub(in crate::runtime) fn no_thread(pp: &'static P, spinning: Option<Spinning>, error: &io::Error) {
    static SAID: AtomicBool = AtomicBool::new(false);
    lock(&sched().lock);
    if let Some(spinning) = spinning {
        spinning.uncount();
    }
    let (q, n) = runqdrain(pp.local());
    globrunqputbatch(&q, n);
    if sched().gcwaiting.load(Ordering::SeqCst) {
        stopped_for_another(pp);
    } else {
        pidleput(pp);
        serve_turns();
    }
    WANTED.store(true, Ordering::Relaxed);
    let (nobody, threads) = (running() <= 0, mcount());
    wake_sysmon();
    unlock(&sched().lock);
    if nobody && this_m().is_some_and(|mp| mp.ext.system.get()) {
        eprintln!("runtime: failed to create a new OS thread (have {threads} already): {error}");
        throw("newosproc");
    }
    if netpollinited() && sched().lastpoll.load(Ordering::SeqCst) == 0 {
        netpoll_break();
    }
    if !SAID.swap(true, Ordering::Relaxed) {
        eprintln!("gosched: a thread can't be made ({error}): going on with the {threads} that there are");
    }
}

/// A P for an M that is about to sleep, if one waits for a thread. `sched.lock` is held.
pub(super) fn wanted_p() -> Option<&'static P> {
    if thread_wanted() && work_waits() { pidleget() } else { None }
}

/// Whether there is something that an M with an idle P would do: run a goroutine, or poll where nobody does.
/// `sched.lock` is held.
fn work_waits() -> bool {
    assert_lock_held(&sched().lock);
    let nobody_polls = || {
        sched().npidle.load(Ordering::SeqCst) == gomaxprocs() && sched().lastpoll.load(Ordering::SeqCst) != 0
    };
    let to_poll = || netpoll_any_waiters() || time_sleep_until() != MAX_WHEN;
    !sched().gcwaiting.load(Ordering::SeqCst)
        && (sched().runqsize.load(Ordering::Relaxed) != 0 || nobody_polls() && to_poll())
}

/// Tries again to make a thread, if work waits for one. Sysmon calls this in each round.
pub(in crate::runtime) fn start_wanted_thread() {
    if !thread_wanted() {
        return;
    }
    lock(&sched().lock);
    let pp = wanted_p();
    if pp.is_none() {
        WANTED.store(false, Ordering::Relaxed);
        // It has looked for no deadlock meanwhile.
        checkdead();
    }
    unlock(&sched().lock);
    if pp.is_some() {
        startm(pp, None);
    }
}
