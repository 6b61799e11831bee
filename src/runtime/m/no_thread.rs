//! What becomes of a P for which no thread can be made.
//!
//! The P's work goes to the global queue, and the P goes to the idle list. From there:
//!
//! - An M that is about to sleep takes the P instead ([`wanted_p`]).
//! - An M that sleeps in the poller is woken.
//! - Sysmon tries to make a thread again each 10 ms ([`start_wanted_thread`]). If it can't, and no
//!   M is left that could do the work, the process ends.
//!
//! An M that has handed its P on counts as running until it sleeps, and it may run no goroutine but
//! its own. So that M can't tell whether another is left. Sysmon can, because it isn't counted: it
//! looks until there is a thread, or until no M runs.
//!
//! All M's may wait in code outside of the scheduler for a goroutine that is ready and has no M.
//! Sysmon ends the process if no time slice has begun for [`STANDSTILL_NS`].

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, Ordering};

use crate::runtime::base::debug::period;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::nanotime;
use crate::runtime::base::print::eprintln;
use crate::runtime::base::this::this_m;
use crate::runtime::data::runtime2::{P, sched};
use crate::runtime::data::timer::MAX_WHEN;
use crate::runtime::lock::{assert_lock_held, lock, unlock};
use crate::runtime::m::checkdead::{checkdead, running};
use crate::runtime::m::count::mcount;
use crate::runtime::m::spinning::Spinning;
use crate::runtime::m::stall::slices_begun;
use crate::runtime::m::startm::startm;
use crate::runtime::m::turn::serve_turns;
use crate::runtime::netpoll::epoll::netpoll_break;
use crate::runtime::netpoll::{netpoll_any_waiters, netpollinited};
use crate::runtime::p::owner::{pidleget, pidleput};
use crate::runtime::p::procs::{gomaxprocs, time_sleep_until};
use crate::runtime::p::runq::{globrunqputbatch, runqdrain};
use crate::runtime::p::stop::stopped_for_another;
use crate::runtime::p::sysmon_sleep::wake_sysmon;

/// A thread couldn't be made, and sysmon hasn't found since that no work waits for one. Written
/// with `sched.lock` held. A look without the lock may be relaxed, as sysmon looks again.
static WANTED: AtomicBool = AtomicBool::new(false);

/// How long goroutines that are ready may wait for a thread while no time slice begins, in
/// nanoseconds.
const STANDSTILL_NS: i64 = 10_000_000_000;

/// Why the last thread couldn't be made: its `errno`.
static ERROR: AtomicI32 = AtomicI32::new(0);

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
    ERROR.store(error.raw_os_error().unwrap_or(0), Ordering::Relaxed);
    let (nobody, threads) = (running() <= 0, mcount());
    wake_sysmon();
    unlock(&sched().lock);
    if nobody && this_m().is_some_and(|mp| mp.ext.system.get()) {
        end(threads, error);
    }
    if netpollinited() && sched().lastpoll.load(Ordering::SeqCst) == 0 {
        netpoll_break();
    }
    if !SAID.swap(true, Ordering::Relaxed) {
        eprintln!("gosched: a thread can't be made ({error}): going on with the {threads} that there are");
    }
}

/// Ends the process, which has `threads` and can't make another one. Go's words.
fn end(threads: i32, error: &io::Error) -> ! {
    eprintln!("runtime: failed to create a new OS thread (have {threads} already): {error}");
    if error.raw_os_error() == Some(libc::EAGAIN) {
        eprintln!("runtime: may need to increase max user processes (ulimit -u)");
    }
    throw("newosproc");
}

/// A P for an M that is about to sleep, if one waits for a thread. `sched.lock` is held.
pub(super) fn wanted_p() -> Option<&'static P> {
    if thread_wanted() && work_waits() { pidleget() } else { None }
}

/// Whether there is something that an M with an idle P would do: run a goroutine, or, where nobody
/// polls, run a timer that is due, or poll. `sched.lock` is held.
fn work_waits() -> bool {
    assert_lock_held(&sched().lock);
    let all_idle = sched().npidle.load(Ordering::SeqCst) == gomaxprocs();
    let to_poll = || all_idle && (netpoll_any_waiters() || time_sleep_until() != MAX_WHEN);
    let for_polls = || sched().lastpoll.load(Ordering::SeqCst) != 0 && (to_poll() || timer_is_due());
    !sched().gcwaiting.load(Ordering::SeqCst)
        && (sched().runqsize.load(Ordering::Relaxed) != 0 || for_polls())
}

fn timer_is_due() -> bool {
    time_sleep_until() <= nanotime()
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
    end_if_all_stands_still();
}

/// Ends the process if goroutines are ready, no thread can be made for them, and no time slice has
/// begun for long. Sysmon alone calls this.
fn end_if_all_stands_still() {
    static SLICES: AtomicU32 = AtomicU32::new(0);
    // When SLICES was first seen to be what it is, while goroutines were ready; or 0.
    static SINCE: AtomicI64 = AtomicI64::new(0);
    let (now, slices) = (nanotime(), slices_begun());
    let ready = sched().runqsize.load(Ordering::Relaxed) != 0 || timer_is_due();
    let since = SINCE.load(Ordering::Relaxed);
    if !thread_wanted() || !ready || SLICES.swap(slices, Ordering::Relaxed) != slices {
        SINCE.store(0, Ordering::Relaxed);
    } else if since == 0 {
        SINCE.store(now, Ordering::Relaxed);
    } else if now - since >= period(STANDSTILL_NS) {
        lock(&sched().lock);
        let threads = mcount();
        unlock(&sched().lock);
        eprintln!(
            "gosched: goroutines are ready, and all threads wait in code outside of the scheduler: each \
             goroutine that waits there keeps a thread"
        );
        end(threads, &io::Error::from_raw_os_error(ERROR.load(Ordering::Relaxed)));
    }
}
