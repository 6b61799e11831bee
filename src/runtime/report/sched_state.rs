//! The scheduler's state as data: what [`schedtrace`](super::schedtrace) prints with
//! `scheddetail=1`, without the goroutines.

use std::sync::atomic::Ordering;

use crate::runtime::base::os::nanotime;
use crate::runtime::base::this::started;
use crate::runtime::data::runtime2::{G, M, P, PDEAD, PGCSTOP, PIDLE, PRUNNING, PSYSCALL, sched};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::thread::{ALLM, mcount};
use crate::runtime::p::procs::procs;

/// The scheduler's state, at about one moment.
#[derive(Default)]
pub(crate) struct SchedState {
    /// P's that nobody uses.
    pub(crate) idle_procs: i32,
    /// The runtime's threads, those that wait for work too.
    pub(crate) threads: i32,
    /// Threads that wait for work.
    pub(crate) idle_threads: i32,
    /// Threads that look for work.
    pub(crate) spinning_threads: i32,
    /// The length of the global queue.
    pub(crate) runqueue: i32,
    /// The P's.
    pub(crate) procs: Vec<ProcState>,
    /// The M's that run a goroutine, or look for one.
    pub(crate) busy_threads: Vec<ThreadState>,
}

/// A P.
pub(crate) struct ProcState {
    pub(crate) status: &'static str,
    /// The number of its M.
    pub(crate) thread: Option<i64>,
    /// The goroutine that runs on it.
    pub(crate) goroutine: Option<u64>,
    /// The length of its queue, with the goroutine that runs next.
    pub(crate) runqueue: u32,
    /// How often it has begun to run a goroutine, modulo 2^32.
    pub(crate) ticks: u32,
    pub(crate) timers: u32,
}

/// An M with a goroutine or a P.
pub(crate) struct ThreadState {
    pub(crate) id: i64,
    pub(crate) proc: Option<i32>,
    pub(crate) goroutine: Option<u64>,
    pub(crate) spinning: bool,
    /// Whether a goroutine is locked to it.
    pub(crate) locked: bool,
    /// For how many nanoseconds its goroutine has run without a P, if it does.
    pub(crate) detached: Option<i64>,
}

/// Returns the scheduler's state. Doesn't allocate with `sched.lock` held: a thread inside of
/// malloc may be interrupted by a signal whose handler takes that lock.
pub(crate) fn sched_state() -> SchedState {
    /// P's and M's that may be made between the two sections.
    const MORE: usize = 32;
    let mut state = SchedState::default();
    if !started() {
        return state;
    }
    lock(&sched().lock);
    let (procs_now, threads_now) = (procs().allp.len(), mcount().max(0) as usize);
    unlock(&sched().lock);
    state.procs.reserve_exact(procs_now + MORE);
    state.busy_threads.reserve_exact(threads_now + MORE);

    let now = nanotime();
    lock(&sched().lock);
    let s = sched();
    state.idle_procs = s.npidle.load(Ordering::Relaxed);
    state.threads = mcount();
    state.idle_threads = s.nmidle.get();
    state.spinning_threads = s.nmspinning.load(Ordering::Relaxed);
    state.runqueue = s.runqsize.load(Ordering::Relaxed);
    let room = state.procs.capacity();
    state.procs.extend(procs().allp.iter().take(room).map(|pp| proc_state(pp)));
    // Acquire pairs with mcommoninit.
    let mut next = ALLM.0.load(Ordering::Acquire);
    while let Some(mp) = next {
        next = mp.alllink.get();
        if state.busy_threads.len() < state.busy_threads.capacity() {
            state.busy_threads.extend(thread_state(mp, now));
        }
    }
    unlock(&sched().lock);
    state
}

fn proc_state(pp: &P) -> ProcState {
    let mp = pp.m.load(Ordering::Acquire);
    ProcState {
        status: match pp.status.load(Ordering::Relaxed) {
            PIDLE => "idle",
            PRUNNING => "running",
            PSYSCALL => "syscall",
            PGCSTOP => "stopped",
            PDEAD => "dead",
            _ => "unknown",
        },
        thread: mp.map(|mp| mp.id.get()),
        goroutine: mp.and_then(|mp| goid(mp.curg.get())),
        runqueue: pp.steal().len() + u32::from(!pp.runnext.is_null()),
        ticks: pp.schedtick.load(Ordering::Relaxed),
        timers: pp.num_timers.load(Ordering::Relaxed),
    }
}

/// Returns the state of an M; none if it waits for work, or has no thread.
fn thread_state(mp: &M, now: i64) -> Option<ThreadState> {
    let proc = mp.p.peek().map(|pp| pp.id.get());
    let goroutine = goid(mp.curg.get()).filter(|_| !mp.isextra.get() || proc.is_some());
    let since = mp.ext.detached_since.load(Ordering::Relaxed);
    (proc.is_some() || goroutine.is_some()).then(|| ThreadState {
        id: mp.id.get(),
        proc,
        goroutine,
        spinning: mp.spinning.get(),
        locked: mp.lockedg.get().is_some() && !mp.isextra.get(),
        detached: (since != 0).then(|| (now - since).max(0)),
    })
}

fn goid(gp: Option<&G>) -> Option<u64> {
    gp.map(|gp| gp.goid.get())
}
