//! Threads. An M is made, or used again, and gets a thread: Go's `newm`, `allocm`, `mcommoninit`
//! and `newm1`. The template thread makes threads on behalf of threads that shouldn't:
//! `templateThread`. M's are counted: `mReserveID`, `mcount`, `checkmcount`, `setMaxThreads`. And
//! the fate of a P for which no thread can be made.
//!
//! # The template thread
//!
//! A new thread inherits from its maker: processors it may run on, priorities, name spaces,
//! capabilities. A goroutine may be locked to its thread to change such state, and a thread that
//! isn't ours may have any state. None of that must get into the pool of M's. So the template
//! thread, which is in a known good state, makes threads on behalf of such threads.
//!
//! # A thread that can't be made
//!
//! The P's work goes to the global queue, and the P goes to the idle list. From there:
//!
//! - An M that is about to sleep takes the P instead ([`wanted_p`]).
//! - An M that sleeps in the poller is woken.
//! - Sysmon tries to make a thread again each 10 ms ([`start_wanted_thread`]). If it can't, and no
//!   M is left that could do the work, the process ends.
//!
//! An M that has handed its P on counts as running until it sleeps, and it may run no goroutine
//! except its own. So it can't tell whether another M is left to do the work. Sysmon can, because
//! it isn't counted: it looks until there is a thread, or until no M runs.
//!
//! All M's may wait, in code outside of the scheduler, for a goroutine that is ready and has no M.
//! So sysmon ends the process if no time slice has begun for [`STANDSTILL_NS`].

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::Cell;
use std::ffi::c_void;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, Ordering};

use crate::runtime::arch::systemstack;
use crate::runtime::arch::tsan;
use crate::runtime::base::debug::period;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::{nanotime, newosproc};
use crate::runtime::base::print::eprintln;
use crate::runtime::base::rand::mrandinit;
use crate::runtime::base::this::{acquirem, releasem, this_m};
use crate::runtime::data::link::{Link, SharedLink};
use crate::runtime::data::runtime2::{G, M, Mutex, Note, P, sched};
use crate::runtime::data::timer::MAX_WHEN;
use crate::runtime::lock::note::{noteclear, notesleep, notewakeup};
use crate::runtime::lock::{assert_lock_held, lock, unlock};
use crate::runtime::m::checkdead::{checkdead, running};
use crate::runtime::m::sigstack::{init_sigmask, mpreinit};
use crate::runtime::m::spinning::Spinning;
use crate::runtime::m::startm::startm;
use crate::runtime::m::turn::{serve_turns, slices_begun};
use crate::runtime::netpoll::epoll::netpoll_break;
use crate::runtime::netpoll::{netpoll_any_waiters, netpollinited};
use crate::runtime::p::owner::{pidleget, pidleput};
use crate::runtime::p::procs::{gomaxprocs, time_sleep_until};
use crate::runtime::p::runq::{globrunqputbatch, runqdrain};
use crate::runtime::p::stop::stopped_for_another;
use crate::runtime::p::sysmon_sleep::wake_sysmon;

/// The list of all M's, linked through `alllink`. Go's `allm`.
pub(in crate::runtime) static ALLM: SharedLink<M> = SharedLink(Link::null());

/// How many M's are on the list of extra M's (`sched/mstart.rs`). Go's `extraMLength`.
pub(in crate::runtime) static EXTRAM_LENGTH: AtomicI32 = AtomicI32::new(0);

/// In `m.free_wait`: the M's thread is about to end, and still uses the M. Go's `freeMWait`.
pub(in crate::runtime) const FREE_M_WAIT: u32 = 2;

/// In `m.free_wait`: the M can be used again. Go's `freeMRef`.
pub(in crate::runtime) const FREE_M_REF: u32 = 1;

/// Makes an M that will run `f` and then the scheduler, with `pp`. `pp` is none if `f` never
/// returns, or waits for a P. On an error, the number `id` no longer counts. Go's `newm`.
pub(in crate::runtime) fn newm(f: Option<fn()>, pp: Option<&'static P>, id: i64) -> io::Result<()> {
    let locked = acquirem();
    let made = tsan::ignore_accesses(|| allocm(f, id)).inspect_err(|_| m_unreserve_id()).and_then(|mp| {
        mp.nextp.set(pp);
        mp.ext.system.set(pp.is_none());
        mp.sigmask.set(init_sigmask());
        // A goroutine may have changed this thread, or the thread isn't ours: a new thread would
        // inherit its state.
        let strange = locked.is_none_or(|mine| mine.locked_ext.get() != 0 || mine.isextra.get());
        let made = if strange { newm_by_template(mp) } else { None };
        made.unwrap_or_else(|| newm1(mp))
    });
    releasem(locked);
    made
}

/// Makes an M that runs only `f`, which never returns. The M runs no goroutines and has no P, and
/// once this returns it doesn't count for deadlock. (In Go such an M excludes itself when it runs.)
pub(in crate::runtime) fn new_system_m(f: fn()) -> io::Result<()> {
    lock(&sched().lock);
    let id = m_reserve_id();
    unlock(&sched().lock);
    newm(Some(f), None, id)?;
    // Counted only once there is a thread: checkdead compares the number of M's with that of
    // threads.
    lock(&sched().lock);
    sched().nmsys.set(sched().nmsys.get() + 1);
    checkdead();
    unlock(&sched().lock);
    Ok(())
}

/// Returns an M without a thread, which will run `f` before the scheduler. Go's `allocm`.
pub(in crate::runtime) fn allocm(f: Option<fn()>, id: i64) -> io::Result<&'static M> {
    let mp = match reuse_m() {
        Some(mp) => {
            mp.id.set(id);
            mp
        }
        None => {
            // SAFETY: the layout isn't empty.
            let new = unsafe { alloc_zeroed(Layout::new::<M>()) }.cast::<M>();
            // SAFETY: all zero is a valid M, and an M that others know of is never freed.
            let mp = unsafe { new.as_ref::<'static>() }.ok_or(io::ErrorKind::OutOfMemory)?;
            // SAFETY: allocated above, with this layout, and nobody else knows of it.
            mpreinit(mp).inspect_err(|_| unsafe { dealloc(new.cast(), Layout::new::<M>()) })?;
            mcommoninit(mp, id);
            mp
        }
    };
    mp.mstartfn.set(f);
    mp.g0.set(Some(&mp.ext.g0));
    mp.ext.g0.m.set(Some(mp));
    Ok(mp)
}

/// Takes an M whose thread has ended, or could not be made.
fn reuse_m() -> Option<&'static M> {
    lock(&sched().lock);
    let mut link = &sched().freem;
    let found = loop {
        let Some(mp) = link.get() else { break None };
        // Acquire pairs with mexit: the thread doesn't use the M any more.
        if mp.free_wait.load(Ordering::Acquire) != FREE_M_WAIT {
            link.set(mp.freelink.get());
            break Some(mp);
        }
        link = &mp.freelink;
    };
    unlock(&sched().lock);
    found
}

/// Sets up the fields of every M. Go's `mcommoninit`.
fn mcommoninit(mp: &'static M, id: i64) {
    mp.id.set(id);
    mrandinit(mp);
    lock(&sched().lock);
    mp.alllink.set(ALLM.0.get());
    // Release pairs with readers that don't take the lock: they see the M set up.
    ALLM.0.store(Some(mp), Ordering::Release);
    unlock(&sched().lock);
}

/// Gives an M a thread; fails if none can be made. Go's `newm1`.
fn newm1(mp: &'static M) -> io::Result<()> {
    let g0: *const G = &mp.ext.g0;
    let made = newosproc(g0.cast_mut().cast::<c_void>()).inspect_err(|_| {
        mp.nextp.set(None);
        lock(&sched().lock);
        mp.freelink.set(sched().freem.get());
        sched().freem.set(Some(mp));
        sched().nmfreed.set(sched().nmfreed.get() + 1);
        unlock(&sched().lock);
    });
    sched().ext.turns.starting.fetch_add(made.is_ok().into(), Ordering::Relaxed);
    made
}

/// Starts the template thread, unless there is one. The calling thread is in a good state. If the
/// template thread can't be made, the threads that need others go on making them. Go's
/// `startTemplateThread`.
pub(in crate::runtime) fn start_template_thread() {
    let NewmHandoff { started, have_template_thread, .. } = &NEWM_HANDOFF;
    if started.load(Ordering::Relaxed) {
        return;
    }
    let mp = acquirem();
    if !started.swap(true, Ordering::Relaxed) {
        let made = new_system_m(template_thread).is_ok();
        have_template_thread.store(made, Ordering::Relaxed);
        started.store(made, Ordering::Relaxed);
    }
    releasem(mp);
}

/// An M that waits for its thread, and the thread that has asked for it.
struct Request {
    mp: &'static M,
    next: *const Request,
    made: Cell<Option<io::Result<()>>>,
    done: Note,
}

/// Requests, and the thread that serves them. Go's `newmHandoff`.
struct NewmHandoff {
    lock: Mutex,
    /// The list of requests, on the stacks of the threads that wait; protected by the lock.
    newm: Cell<*const Request>,
    /// Whether the template thread sleeps until `wake`; protected by the lock.
    waiting: Cell<bool>,
    wake: Note,
    /// Whether the template thread is being made, or has been.
    started: AtomicBool,
    /// Whether the template thread has been made.
    have_template_thread: AtomicBool,
}

// SAFETY: the cells are only touched with the lock held; the rest is atomic.
unsafe impl Sync for NewmHandoff {}

static NEWM_HANDOFF: NewmHandoff = NewmHandoff {
    lock: Mutex::new(),
    newm: Cell::new(ptr::null()),
    waiting: Cell::new(false),
    wake: Note { key: AtomicU32::new(0) },
    started: AtomicBool::new(false),
    have_template_thread: AtomicBool::new(false),
};

/// The function of the template thread's M. It never ends. Go's `templateThread`.
fn template_thread() {
    let handoff = &NEWM_HANDOFF;
    loop {
        lock(&handoff.lock);
        let mut next = handoff.newm.replace(ptr::null());
        if next.is_null() {
            handoff.waiting.set(true);
            noteclear(&handoff.wake);
            unlock(&handoff.lock);
            notesleep(&handoff.wake);
            continue;
        }
        unlock(&handoff.lock);
        // SAFETY: newm_by_template keeps its request until `done` is woken, which comes after the
        // last use, and touches `made` only after that.
        while let Some(request) = unsafe { next.as_ref() } {
            next = request.next;
            request.made.set(Some(newm1(request.mp)));
            notewakeup(&request.done);
        }
    }
}

/// Asks the template thread to make the thread of `mp`, and waits for the result. Returns none if
/// there is no template thread.
fn newm_by_template(mp: &'static M) -> Option<io::Result<()>> {
    let handoff = &NEWM_HANDOFF;
    if !handoff.have_template_thread.load(Ordering::Relaxed) {
        return None;
    }
    lock(&handoff.lock);
    let done = Note { key: AtomicU32::new(0) };
    let request = Request { mp, next: handoff.newm.get(), made: Cell::new(None), done };
    handoff.newm.set(&request);
    let wake = handoff.waiting.replace(false);
    unlock(&handoff.lock);
    if wake {
        notewakeup(&handoff.wake);
    }
    systemstack(|| notesleep(&request.done));
    request.made.take()
}

/// Returns how many M's there are. `sched.lock` is held. Go's `mcount`.
pub(in crate::runtime) fn mcount() -> i32 {
    (sched().mnext.get() - sched().nmfreed.get()) as i32
}

/// [`proc::mcount`](crate::proc::mcount).
pub(crate) fn mcount_now() -> i32 {
    lock(&sched().lock);
    let n = mcount();
    unlock(&sched().lock);
    n
}

/// Reserves the number of an M to be made, which counts as running from here on. `sched.lock` is
/// held. Go's `mReserveID`.
pub(in crate::runtime) fn m_reserve_id() -> i64 {
    assert_lock_held(&sched().lock);
    let id = sched().mnext.get();
    sched().mnext.set(id + 1);
    checkmcount();
    id
}

/// Undoes the count of [`m_reserve_id`], for an M that couldn't be made.
pub(in crate::runtime) fn m_unreserve_id() {
    lock(&sched().lock);
    sched().nmfreed.set(sched().nmfreed.get() + 1);
    unlock(&sched().lock);
}

/// [`proc::set_max_threads`](crate::proc::set_max_threads). Go's `setMaxThreads`.
pub(crate) fn set_max_threads(max: i32) -> i32 {
    lock(&sched().lock);
    let out = sched().maxmcount.replace(max);
    checkmcount();
    unlock(&sched().lock);
    out
}

/// Throws if there are too many M's. `sched.lock` is held. Go's `checkmcount`.
fn checkmcount() {
    assert_lock_held(&sched().lock);
    if mcount() > sched().maxmcount.get() {
        eprintln!("runtime: program exceeds {}-thread limit", sched().maxmcount.get());
        let detached = sched().ext.ndetached.load(Ordering::Relaxed);
        if detached != 0 {
            eprintln!(
                "gosched: {detached} of them are kept by goroutines that wait, or compute, in code outside of the \
                 scheduler (gosched::proc::set_max_threads)"
            );
        }
        throw("thread exhaustion");
    }
}

/// Returns how many extra M's have no thread. `sched.lock` is held.
pub(in crate::runtime) fn extram_length() -> i32 {
    EXTRAM_LENGTH.load(Ordering::Relaxed)
}

/// Whether a thread couldn't be made, and sysmon hasn't found since that no work waits for a
/// thread. Written with `sched.lock` held. A look without the lock may be relaxed, as sysmon looks
/// again.
static WANTED: AtomicBool = AtomicBool::new(false);

/// The maximum time that ready goroutines may wait for a thread while no time slice begins, in
/// nanoseconds.
const STANDSTILL_NS: i64 = 10_000_000_000;

/// The `errno` of the last failure to make a thread.
static ERROR: AtomicI32 = AtomicI32::new(0);

/// Whether work may wait for a thread that couldn't be made.
pub(in crate::runtime) fn thread_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Hands `pp` and its work to the existing M's, because no thread could be made to run `pp`.
#[cold]
pub(in crate::runtime) fn no_thread(pp: &'static P, spinning: Option<Spinning>, error: &io::Error) {
    static SAID: AtomicBool = AtomicBool::new(false);
    lock(&sched().lock);
    if let Some(spinning) = spinning {
        spinning.uncount();
    }
    let (q, n) = runqdrain(pp.local());
    globrunqputbatch(&q, n);
    // SeqCst: see `Schedt::gcwaiting`.
    if sched().gcwaiting.load(Ordering::SeqCst) {
        stopped_for_another(pp);
    } else {
        pidleput(pp);
        serve_turns();
    }
    WANTED.store(true, Ordering::Relaxed);
    ERROR.store(error.raw_os_error().unwrap_or(0), Ordering::Relaxed);
    // An M may have become idle meanwhile. It gets the P when sysmon looks for a thread again.
    let (nobody, threads) = (running() <= 0 && sched().nmidle.get() == 0, mcount());
    wake_sysmon();
    unlock(&sched().lock);
    if nobody && this_m().is_some_and(|mp| mp.ext.system.get()) {
        throw_newosproc(threads, error);
    }
    // The M that polls can take the P instead. SeqCst: see `Schedt::lastpoll`.
    if netpollinited() && sched().lastpoll.load(Ordering::SeqCst) == 0 {
        netpoll_break();
    }
    if !SAID.swap(true, Ordering::Relaxed) {
        eprintln!("gosched: a thread can't be made ({error}): going on with the {threads} that there are");
    }
}

/// Ends the process, which has this number of threads and can't make another one. The words are
/// Go's.
fn throw_newosproc(threads: i32, error: &io::Error) -> ! {
    eprintln!("runtime: failed to create a new OS thread (have {threads} already): {error}");
    if error.raw_os_error() == Some(libc::EAGAIN) {
        eprintln!("runtime: may need to increase max user processes (ulimit -u)");
    }
    throw("newosproc");
}

/// Returns a P for an M that is about to sleep, if a P waits for a thread. `sched.lock` is held.
pub(super) fn wanted_p() -> Option<&'static P> {
    if thread_wanted() && work_waits() { pidleget() } else { None }
}

/// Whether an M with an idle P would have work: a goroutine to run or, if no M polls, a timer that
/// is due, or polling. `sched.lock` is held.
fn work_waits() -> bool {
    assert_lock_held(&sched().lock);
    // SeqCst: see the fields of `Schedt`.
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
        // checkdead looked for no deadlock meanwhile, so it looks now.
        checkdead();
    }
    unlock(&sched().lock);
    if pp.is_some() {
        startm(pp, None);
    }
    end_if_all_stands_still();
}

/// Ends the process if goroutines are ready, no thread can be made for them, and no time slice has
/// begun for long. Only sysmon calls this.
fn end_if_all_stands_still() {
    static SLICES: AtomicU32 = AtomicU32::new(0);
    // When SLICES was first seen with its present value while goroutines were ready; or 0.
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
        throw_newosproc(threads, &io::Error::from_raw_os_error(ERROR.load(Ordering::Relaxed)));
    }
}
