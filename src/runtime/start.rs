//! The way from `run` to the first goroutine: Go's `rt0_go`, `schedinit` and `main`.
//!
//! The first call of `run` starts the runtime, on a thread that isn't ours and won't be. It sets up
//! the scheduler, makes m0, waits until m0 runs, and makes sysmon's thread. If a step fails for
//! want of memory or threads, the next call begins with that step. Then the call, like each later
//! one, makes a main goroutine and sleeps on a note until the goroutine has ended.
//!
//! `schedinit` runs as if the world were stopped, since no other thread uses the scheduler yet. It
//! first registers the reporter for the rooms below. An embedder has registered its hooks before.

use std::ffi::c_void;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::runtime::arch::sanitizer::SANITIZED;
use crate::runtime::arch::{WITHOUT_SHADOW_STACK, has_shadow_stack};
use crate::runtime::base::debug::parsedebugvars;
use crate::runtime::base::fatal::{set_reporter, throw};
use crate::runtime::base::os::init_barriers;
use crate::runtime::base::print::eprintln;
use crate::runtime::base::this::{STARTED, goroutine, started};
use crate::runtime::data::ext::StackKind;
use crate::runtime::data::runtime2::{Note, sched};
use crate::runtime::g::allgs::ALLGLOCK;
use crate::runtime::g::values::{Inherited, drop_locals};
use crate::runtime::lock::note::{SharedNote, notesleep, notewakeup};
use crate::runtime::lock::rank::{LockRank, lock_init, world_started, world_stopped};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::checkdead::checkdead;
#[cfg(pthreads)]
use crate::runtime::m::left_signals;
use crate::runtime::m::lockosthread::unwire;
#[cfg(pthreads)]
use crate::runtime::m::sigmask::{self, SignalsBlocked, mask_to_inherit, usual_mask};
use crate::runtime::m::sigstack::{INIT_SIGMASK, LargerSigstack, sigsave};
use crate::runtime::m::thread::{m_reserve_id, new_system_m, newm};
use crate::runtime::mem::sizes::{set_default_kind, set_default_room};
use crate::runtime::mem::stackinit;
use crate::runtime::monitor::sysmon::sysmon;
use crate::runtime::p::owner::pidleget;
use crate::runtime::p::procs::ALLP_LOCK;
use crate::runtime::p::stop::mark_children_of_fork;
use crate::runtime::report::panic::{install_panic_hook, install_sanitizer_hook, report};
use crate::runtime::report::quit::install_quit_handler;
use crate::runtime::sched::newproc::{Maker, newproc1};
use crate::runtime::sched::ready::enqueue;
use crate::runtime::signal::handler::initsig;
#[cfg(pthreads)]
use crate::runtime::stdpark::gate::threads_live;
#[cfg(feature = "std")]
use crate::runtime::stdpark::gate::{go_live_if_wanted, park_std_waits};
#[cfg(feature = "threads")]
use crate::runtime::threads::live::{go_live_if_asked, want};
use crate::runtime::tls;
use crate::runtime::trace::session::traced_as_said;
use crate::runtime::world::gomaxprocs::first_gomaxprocs;
use crate::runtime::world::procresize::{make_ps, procresize};

/// How far the start has come. Locked while a thread starts the runtime.
static STARTING: std::sync::Mutex<Stage> = std::sync::Mutex::new(Stage::Nothing);

/// Whether goroutines share the thread-locals of their threads, unless their maker wants otherwise.
/// Written and read with [`STARTING`] locked.
static SHARED: AtomicBool = AtomicBool::new(false);

/// Woken by the first M once the runtime runs.
static BOOTED: SharedNote = SharedNote(Note { key: AtomicU32::new(0) });

/// Starts the runtime, unless it has started. `own_locals` says whether the main goroutine is to
/// have thread-locals of its own; none stands for the default. If the goroutine can't have them, or
/// the thread has a shadow stack, the call fails and starts nothing. If there is too little memory,
/// or a thread can't be made, the next call tries again. Go's `rt0_go`; here the caller is a
/// foreign thread, and stays one.
pub(crate) fn rt0_go(own_locals: Option<bool>) -> io::Result<()> {
    let mut stage = STARTING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if started() {
        return Ok(());
    }
    without_shadow_stack()?;
    let shared = SANITIZED || SHARED.load(Ordering::Relaxed);
    if own_locals.unwrap_or(!shared) {
        tls::init()?;
        tls::works()?;
    }
    if *stage == Stage::Nothing {
        schedinit()?;
        *stage = Stage::Initialised;
    }
    if *stage == Stage::Initialised {
        start_m0()?;
        *stage = Stage::Runs;
    }
    if SANITIZED && !SHARED.load(Ordering::Relaxed) {
        eprintln!("gosched: under a sanitizer goroutines share the thread-locals of their threads");
    }
    // Go's `main` does this.
    new_system_m(sysmon)?;
    set_default_kind(shared);
    STARTED.store(true, Ordering::Release);
    #[cfg(feature = "std")]
    park_std_waits_if_wanted();
    #[cfg(feature = "threads")]
    go_live_if_asked(start_by_default);
    Ok(())
}

/// Makes threads goroutines: those of `std::thread`, and those that C code makes by
/// `pthread_create`. Available with the feature `threads`. Implies
/// [`park_std_waits`](crate::park_std_waits).
///
/// ```
/// use std::sync::mpsc;
/// use std::thread;
///
/// gosched::make_threads_goroutines().unwrap();
/// gosched::run(|| {
///     let (tx, rx) = mpsc::channel();
///     let sums = thread::spawn(move || rx.iter().sum::<u32>());
///     (1..=10).for_each(|i| tx.send(i).unwrap());
///     drop(tx);
///     assert_eq!(sums.join().unwrap(), 55);
/// });
/// ```
///
/// Call this once, at the beginning of `main`. If the runtime hasn't started when the program makes
/// its first thread, that thread starts the runtime. So a program whose `main` isn't a goroutine
/// needs no more than this call.
///
/// # Errors
/// - Where threads can't be goroutines: under a sanitizer, in a static program, and with a C
///   library other than glibc ([`Unsupported`](io::ErrorKind::Unsupported)).
/// - Those of [`park_std_waits`](crate::park_std_waits).
#[cfg(feature = "threads")]
pub fn make_threads_goroutines() -> io::Result<()> {
    want(start_by_default)
}

/// Starts the runtime, unless it has started.
#[cfg(feature = "threads")]
fn start_by_default() -> io::Result<()> {
    rt0_go(None)
}

/// Makes std's waits park, if the program or the environment has asked for it.
#[cfg(feature = "std")]
fn park_std_waits_if_wanted() {
    if std::env::var_os("GOSCHED_STD").is_some_and(|value| value == "1")
        && let Err(error) = park_std_waits()
    {
        eprintln!("gosched: GOSCHED_STD=1: waits of std's block their threads: {error}");
    }
    go_live_if_wanted();
}

/// Fails if the processor compares this thread's returns with a shadow stack: the first return
/// after a switch would end the process.
fn without_shadow_stack() -> io::Result<()> {
    if !has_shadow_stack() {
        return Ok(());
    }
    let error = format!(
        "the kernel enforces a shadow stack for this program, and a goroutine has none: {WITHOUT_SHADOW_STACK}"
    );
    Err(io::Error::new(io::ErrorKind::Unsupported, error))
}

/// [`set_default_stack_size`](crate::set_default_stack_size).
pub(crate) fn set_default_stack_size(size: usize) -> io::Result<()> {
    before_start(|| set_default_room(size))
}

/// [`set_default_shared_locals`](crate::set_default_shared_locals).
pub(crate) fn set_default_shared_locals() -> io::Result<()> {
    before_start(|| {
        SHARED.store(true, Ordering::Relaxed);
        Ok(())
    })
}

/// Calls `set` and returns its result. Fails if the runtime has started.
fn before_start(set: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let stage = STARTING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if *stage != Stage::Nothing {
        return Err(io::Error::other("the runtime has started: call this before the first gosched::run"));
    }
    set()
}

/// How far the start has come. If a call fails for want of memory or threads, the next call goes on
/// from here.
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
        crate::runtime::p::owner::pidleput(pp);
        // The next M is to be number 0 again, as that M installs the signal handlers.
        sched().mnext.set(0);
        sched().nmfreed.set(0);
        unlock(&sched().lock);
        return Err(error);
    }
    notesleep(&BOOTED);
    Ok(())
}

/// Does what only the first M does. Go's `mstartm0`.
fn mstartm0() {
    initsig();
    tls::setxid::init();
    install_quit_handler();
    notewakeup(&BOOTED);
}

/// Sets up the scheduler and its P's; makes no thread. Go's `schedinit`.
fn schedinit() -> io::Result<()> {
    set_reporter(report);
    install_panic_hook();
    install_sanitizer_hook();
    lock_init(&sched().lock, LockRank::SCHED);
    lock_init(&sched().sysmonlock, LockRank::SYSMON);
    lock_init(&sched().deferlock, LockRank::DEFER);
    lock_init(&sched().sudoglock, LockRank::SUDOG);
    lock_init(&ALLGLOCK.0, LockRank::ALLG);
    lock_init(&ALLP_LOCK.0, LockRank::ALLP);
    init_barriers();
    sched().maxmcount.set(10_000);

    parsedebugvars();
    stackinit()?;
    tls::init()?;
    let procs = first_gomaxprocs();
    make_ps(procs)?;
    // From here on nothing fails, so these steps aren't done twice.
    INIT_SIGMASK.get_or_init(sigsave);
    #[cfg(pthreads)]
    left_signals::init();
    mark_children_of_fork();
    world_stopped();
    lock(&sched().lock);
    if procresize(procs).is_some() {
        throw("unknown runnable goroutine during bootstrap");
    }
    unlock(&sched().lock);
    world_started();
    Ok(())
}

/// A main function, and the thread that waits for it.
struct Main {
    f: unsafe fn(*mut c_void),
    arg: *mut c_void,
    done: Note,
}

/// Runs `f(arg)` on a goroutine of this kind and waits for its end. Called on a thread that isn't
/// ours, when the runtime has started. Fails if no stack can be made.
///
/// # Safety
/// `f(arg)` may be called on another thread, and doesn't unwind.
pub(crate) unsafe fn run_main(
    f: unsafe fn(*mut c_void),
    arg: *mut c_void,
    kind: StackKind,
    maker: &Maker,
) -> io::Result<()> {
    let _traced = traced_as_said();
    let waiting = Main { f, arg, done: Note { key: AtomicU32::new(0) } };
    let _sigstack = LargerSigstack::new();
    let inherited = Inherited::new();
    let newg = newproc1(main, kind, maker)?;
    inherited.give(newg);
    #[cfg(pthreads)]
    sigmask::begin(newg, if threads_live() { mask_to_inherit(None) } else { usual_mask() });
    // Before a goroutine can send the process a signal that it blocks itself.
    #[cfg(pthreads)]
    let _signals = threads_live().then(SignalsBlocked::new);
    newg.sched.ctxt.set(ptr::from_ref(&waiting).cast_mut().cast());
    enqueue(newg);
    // From here on this thread can't wake a goroutine. That may make a deadlock, and if all M's
    // wait already, none of them will look for it. SeqCst: see `SchedtExt::nrunwait`.
    lock(&sched().lock);
    sched().ext.nrunwait.fetch_add(1, Ordering::SeqCst);
    checkdead();
    unlock(&sched().lock);
    notesleep(&waiting.done);
    Ok(())
}

/// The function of a main goroutine. Go's `main`.
unsafe extern "C" fn main(waiting: *mut c_void) {
    // SAFETY: run_main passes a Main, and keeps it until `done` is woken.
    let waiting = unsafe { &*waiting.cast::<Main>() };
    // SAFETY: run_main's caller has promised that `f(arg)` may be called on this thread, and
    // doesn't unwind.
    unsafe { (waiting.f)(waiting.arg) };
    let (gp, _) = goroutine();
    unwire(gp);
    drop_locals(gp);
    // From here on the waiting thread can wake goroutines. SeqCst: see `SchedtExt::nrunwait`.
    sched().ext.nrunwait.fetch_sub(1, Ordering::SeqCst);
    notewakeup(&waiting.done);
}
