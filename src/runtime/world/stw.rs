//! Stopping the world: all P's but one stop, each at a point where its goroutine could have parked.
//! Go's `stopTheWorld` and `startTheWorld`.
//!
//! `sched.gcwaiting` says that the world is to stop, and `sched.stopwait` how many P's haven't
//! stopped. The stopper stops idle P's, and P's that an M in a system call has left. A running P
//! stops itself (`gcstopm`) when its goroutine parks or is preempted. The stopper sets `gcwaiting`
//! and then looks at a P's state; an M changes the state and then looks at `gcwaiting`. So one of
//! the two counts the P.

use std::ffi::CStr;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use crate::runtime::arch::{systemstack, systemstack_scannable};
use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::nanotime;
use crate::runtime::base::this::{acquirem, goroutine, releasem};
use crate::runtime::data::runtime2::{GRUNNING, M, P, PGCSTOP, TimeHistogram, WaitReason, sched};
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::g::status::{cas_g_from_waiting, cas_g_to_waiting};
use crate::runtime::lock::note::{noteclear, notetsleep, notewakeup};
use crate::runtime::lock::rank::{assert_world_stopped, world_started, world_stopped};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::thread::{m_reserve_id, newm, no_thread};
use crate::runtime::m::turn::{let_go, serve_turns};
use crate::runtime::netpoll::netpollinited;
use crate::runtime::p::owner::pidleget;
use crate::runtime::p::procs::{gomaxprocs, procs};
use crate::runtime::p::stop::{ASK_AGAIN_NS, detachall, preemptall, stopped, take_from_syscall};
use crate::runtime::p::sysmon_sleep::wake_sysmon;
use crate::runtime::sched::detach::hold_with_p;
use crate::runtime::sched::poll::inject_polled;
use crate::runtime::sched::wake::wakep;
use crate::runtime::sema::semacquire::{semacquire, semrelease1};
use crate::runtime::world::procresize::procresize;

/// A semaphore of one: only the goroutine that has it may stop the world. Go's `worldsema`.
pub(super) static WORLDSEMA: AtomicU32 = AtomicU32::new(1);

/// The number of P's to have when the world starts, 0 to keep the present number. Set with
/// [`WORLDSEMA`] held. Go's `newprocs`.
pub(super) static NEWPROCS: AtomicI32 = AtomicI32::new(0);

macro_rules! reasons {
    ($($name:ident $text:literal)*) => {
        /// Why the world is stopped. Go's `stwReason`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum StwReason {
            $(#[doc = concat!("\"", $text, "\"")] $name,)*
        }

        impl StwReason {
            /// All reasons, in Go's order.
            pub(crate) const ALL: &[StwReason] = &[$(StwReason::$name),*];

            /// Returns the reason as a report shows it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(StwReason::$name => $text,)*
                }
            }

            /// Returns the same text for `m.preemptoff`, and for C.
            pub(crate) const fn as_c_str(self) -> &'static CStr {
                match self {
                    $(StwReason::$name => match CStr::from_bytes_with_nul(concat!($text, "\0").as_bytes()) {
                        Ok(text) => text,
                        Err(_) => unreachable!(),
                    },)*
                }
            }
        }
    };
}

reasons! {
    Unknown "unknown"
    GcMarkTerm "GC mark termination"
    GcSweepTerm "GC sweep termination"
    WriteHeapDump "write heap dump"
    GoroutineProfile "goroutine profile"
    GoroutineProfileCleanup "goroutine profile cleanup"
    AllGoroutinesStack "all goroutines stack trace"
    ReadMemStats "read mem stats"
    AllThreadsSyscall "AllThreadsSyscall"
    GoMaxProcs "GOMAXPROCS"
    StartTrace "start trace"
    StopTrace "stop trace"
}

impl StwReason {
    /// Whether a collector stops the world for this reason. Go's `isGC`.
    fn is_gc(self) -> bool {
        matches!(self, StwReason::GcMarkTerm | StwReason::GcSweepTerm)
    }
}

/// A stopped world, to be started again. Go's `worldStop`.
#[must_use = "the world is stopped until it is started"]
#[derive(Debug)]
pub struct WorldStop {
    pub(crate) reason: StwReason,
    /// When stopping it began.
    pub(crate) started_stopping: i64,
}

impl WorldStop {
    /// Returns why the world was stopped.
    pub fn reason(&self) -> StwReason {
        self.reason
    }
}

/// [`proc::stop_the_world`](crate::proc::stop_the_world) without the check of the stack. Go's
/// `stopTheWorld`.
///
/// Called on a goroutine that holds no lock of the runtime.
#[inline(never)]
pub(crate) fn stop_the_world(reason: StwReason) -> WorldStop {
    let (_, mp) = goroutine();
    if !mp.preemptoff.get().is_null() {
        throw("stopTheWorld: the world is stopped already, by this goroutine");
    }
    semacquire(&WORLDSEMA);
    // semacquire may have parked: this may be another M.
    let (gp, mp, held) = hold_with_p();
    mp.preemptoff.set(reason.as_c_str().as_ptr());
    trace(|| Event::StwStart(reason.as_str()));
    drop(held);
    let started_stopping = nanotime();
    systemstack_scannable(|| {
        // The status is waiting, so that its stack can be scanned meanwhile. A scan of a running
        // goroutine would wait until it stops, and the goroutine would wait for the scan's P.
        cas_g_to_waiting(gp, GRUNNING, WaitReason::StoppingTheWorld);
        stop_the_world_with_sema(mp);
        cas_g_from_waiting(gp);
        stopping_time(reason).record(nanotime() - started_stopping);
    });
    WorldStop { reason, started_stopping }
}

/// [`proc::start_the_world`](crate::proc::start_the_world) without the check of the stack. Go's
/// `startTheWorld`.
#[inline(never)]
pub(crate) fn start_the_world(w: WorldStop) {
    systemstack(|| start_the_world_with_sema(&w));
    // The goroutine isn't preempted before the semaphore is released. The semaphore is handed over
    // directly, so that a goroutine that stops the world in a loop doesn't keep others from doing
    // so.
    let mp = acquirem();
    trace(|| Event::StwDone);
    mp.inspect(|mp| mp.preemptoff.set(std::ptr::null()));
    semrelease1(&WORLDSEMA, true);
    releasem(mp);
}

/// Returns the histogram of the times that stopping the world took, for reasons of this kind.
fn stopping_time(reason: StwReason) -> &'static TimeHistogram {
    if reason.is_gc() { &sched().stw_stopping_time_gc } else { &sched().stw_stopping_time_other }
}

/// Returns the histogram of the times that the world was stopped, stopping it included, for reasons
/// of this kind.
fn total_time(reason: StwReason) -> &'static TimeHistogram {
    if reason.is_gc() { &sched().stw_total_time_gc } else { &sched().stw_total_time_other }
}

/// Stops the world, for a goroutine that has [`WORLDSEMA`] and can't be preempted. Called on g0,
/// with a P. Go's `stopTheWorldWithSema`.
fn stop_the_world_with_sema(mp: &'static M) {
    if mp.locks.get() > 0 {
        throw("stopTheWorld: holding locks");
    }
    let Some(mine) = mp.p() else { throw("stopTheWorld: no p") };
    lock(&sched().lock);
    sched().stopwait.store(gomaxprocs(), Ordering::Relaxed);
    // Stored before the look at the P's in system calls. SeqCst: see `Schedt::gcwaiting`.
    sched().gcwaiting.store(true, Ordering::SeqCst);
    // Goroutines that wait for their turn in a signal handler may hold locks that the code below
    // needs, or the operation in the stopped world.
    let_go();
    preemptall();
    stopped(mine);
    take_all_from_syscalls();
    while let Some(pp) = pidleget() {
        stopped(pp);
    }
    let wait = sched().stopwait.load(Ordering::Relaxed) > 0;
    unlock(&sched().lock);

    while wait && !notetsleep(&sched().stopnote, ASK_AGAIN_NS) {
        preemptall();
        detachall();
        // A goroutine that has lost its P in a signal handler has neither stopped nor counted the
        // P.
        lock(&sched().lock);
        take_all_from_syscalls();
        let all = sched().stopwait.load(Ordering::Relaxed) == 0;
        unlock(&sched().lock);
        if all {
            break;
        }
    }
    noteclear(&sched().stopnote);

    if sched().stopwait.load(Ordering::Relaxed) != 0 {
        throw("stopTheWorld: not stopped (stopwait != 0)");
    }
    // SeqCst: see `P::status`.
    if procs().allp.iter().any(|pp| pp.status.load(Ordering::SeqCst) != PGCSTOP) {
        throw("stopTheWorld: not stopped (status != _Pgcstop)");
    }
    world_stopped();
}

/// Takes the P's of M's that are in system calls, or whose goroutines have lost them. `sched.lock`
/// is held.
fn take_all_from_syscalls() {
    for pp in &procs().allp {
        if take_from_syscall(pp, PGCSTOP) {
            sched().stopwait.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Starts the world, with [`NEWPROCS`] P's. Called on g0 of the M that has stopped it. Go's
/// `startTheWorldWithSema`.
fn start_the_world_with_sema(w: &WorldStop) {
    assert_world_stopped();
    let locked = acquirem();
    if netpollinited() {
        inject_polled();
    }
    lock(&sched().lock);
    let newprocs = NEWPROCS.swap(0, Ordering::Relaxed);
    let mut runnable = procresize(if newprocs == 0 { gomaxprocs() } else { newprocs });
    // SeqCst: see `Schedt::gcwaiting`.
    sched().gcwaiting.store(false, Ordering::SeqCst);
    // Called after gcwaiting was cleared: a goroutine that gets a P here must not take it for a P
    // that is to stop.
    serve_turns();
    wake_sysmon();
    unlock(&sched().lock);
    world_started();

    while let Some(pp) = runnable {
        runnable = pp.link.get();
        match pp.m.get() {
            Some(idle) => {
                pp.m.set(None);
                if !idle.nextp.is_null() {
                    throw("startTheWorld: inconsistent mp->nextp");
                }
                idle.nextp.set(Some(pp));
                notewakeup(&idle.park);
            }
            None => start_thread(pp),
        }
    }
    total_time(w.reason).record(nanotime() - w.started_stopping);
    // There may be more goroutines to run than these P's have in their queues. If not, the M goes
    // back to sleep.
    wakep();
    releasem(locked);
}

/// Makes an M for `pp`.
fn start_thread(pp: &'static P) {
    lock(&sched().lock);
    let id = m_reserve_id();
    unlock(&sched().lock);
    if let Err(error) = newm(None, Some(pp), id) {
        no_thread(pp, None, &error);
    }
}
