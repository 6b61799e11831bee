//! How the runtime starts: Go's `rt0_go` and `schedinit`.

use std::cell::Cell;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::cgroup::default_gomaxprocs;
use crate::debug::{gomaxprocs_from_env, parsedebugvars};
use crate::lock::note::{notesleep, notewakeup};
use crate::lock::rank::{LockRank, lock_init, world_started, world_stopped};
use crate::lock::{lock, unlock};
use crate::os::init_barriers;
use crate::panic::{report, set_reporter, throw};
use crate::proc::allgs::ALLGLOCK;
use crate::proc::m::{m_reserve_id, new_system_m, newm};
use crate::proc::procresize::{ALLP_LOCK, procresize};
use crate::proc::sysmon::sysmon;
use crate::proc::wake::pidleget;
use crate::runtime2::{Note, sched};
use crate::signal_unix::{initsig, sigsave};
use crate::stack::stackinit;
use crate::traceback::quit::install_quit_handler;

/// Woken by the first M once the runtime runs.
static BOOTED: SharedNote = SharedNote(Note { key: AtomicU32::new(0) });

/// A [`Note`] in a static.
pub(crate) struct SharedNote(Note);

impl std::ops::Deref for SharedNote {
    type Target = Note;

    fn deref(&self) -> &Note {
        &self.0
    }
}

/// The signal mask of the thread that started the runtime, and so of every M. Go's
/// `initSigmask`.
static INIT_SIGMASK: Sigmask = Sigmask(Cell::new(MaybeUninit::zeroed()));

/// A signal mask in a static.
struct Sigmask(Cell<MaybeUninit<libc::sigset_t>>);

// SAFETY: set by schedinit alone, before there is an M; newm reads it after that.
unsafe impl Sync for Sigmask {}

/// The signal mask of the thread that started the runtime.
pub(crate) fn init_sigmask() -> MaybeUninit<libc::sigset_t> {
    INIT_SIGMASK.0.get()
}

static STARTED: AtomicBool = AtomicBool::new(false);

/// Whether the runtime has started.
#[inline]
pub(crate) fn started() -> bool {
    // Acquire pairs with rt0_go: what schedinit set up is there.
    STARTED.load(Ordering::Acquire)
}

/// Starts the runtime, unless it has started. If a thread can't be made, the next call tries again. Go's
/// `rt0_go`; here the caller is a foreign thread, and stays one.
pub(crate) fn rt0_go() -> io::Result<()> {
    static STARTING: std::sync::Mutex<Stage> = std::sync::Mutex::new(Stage::Nothing);
    let mut stage = STARTING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if started() {
        return Ok(());
    }
    if *stage == Stage::Nothing {
        schedinit()?;
        *stage = Stage::Initialised;
    }
    if *stage == Stage::Initialised {
        start_m0()?;
        *stage = Stage::Runs;
    }
    // Go's `main` does this.
    new_system_m(sysmon)?;
    STARTED.store(true, Ordering::Release);
    Ok(())
}

/// How far the start is: the next call goes on where one has failed for want of memory or threads.
#[derive(PartialEq, Eq)]
enum Stage {
    Nothing,
    Initialised,
    Runs,
}

/// Makes the first M, and waits until it runs.
fn start_m0() -> io::Result<()> {
    lock(&sched().lock);
    let id = m_reserve_id();
    let pp = pidleget();
    unlock(&sched().lock);
    let Some(pp) = pp else { throw("rt0_go: no p") };
    if let Err(error) = newm(Some(mstartm0), Some(pp), id) {
        lock(&sched().lock);
        crate::proc::wake::pidleput(pp);
        // The next one is to be number 0 again, the M that installs the signal handlers.
        sched().mnext.set(0);
        sched().nmfreed.set(0);
        unlock(&sched().lock);
        return Err(error);
    }
    notesleep(&BOOTED);
    Ok(())
}

/// What only the first M does. Go's `mstartm0`.
fn mstartm0() {
    initsig();
    install_quit_handler();
    notewakeup(&BOOTED);
}

/// Sets up the scheduler and its P's; makes no thread. Go's `schedinit`.
fn schedinit() -> io::Result<()> {
    set_reporter(report);
    lock_init(&sched().lock, LockRank::SCHED);
    lock_init(&sched().sysmonlock, LockRank::SYSMON);
    lock_init(&sched().deferlock, LockRank::DEFER);
    lock_init(&sched().sudoglock, LockRank::SUDOG);
    lock_init(&ALLGLOCK.0, LockRank::ALLG);
    lock_init(&ALLP_LOCK.0, LockRank::ALLP);
    init_barriers();
    sched().maxmcount.set(10_000);

    world_stopped();
    parsedebugvars();
    stackinit()?;
    INIT_SIGMASK.0.set(sigsave());
    let procs = gomaxprocs_from_env().unwrap_or_else(default_gomaxprocs);
    lock(&sched().lock);
    if procresize(procs).is_some() {
        throw("unknown runnable goroutine during bootstrap");
    }
    unlock(&sched().lock);
    world_started();
    Ok(())
}
