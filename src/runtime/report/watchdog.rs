//! The watchdog of a fatal error's report. It ends a step that waits forever, and gives up a report
//! that takes too long.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::runtime::arch::Sigctxt;
use crate::runtime::arch::syscall::sigaction;
use crate::runtime::base::debug::patience;
use crate::runtime::base::fatal::exit;
use crate::runtime::base::guarded::{end_guarded, is_reporter, pass_to_reporter};
use crate::runtime::base::os::poll_now;
use crate::runtime::base::print::eprintln;
use crate::runtime::base::real::pthread_sigmask;

/// The time between two looks of the watchdog, in microseconds.
const TICK: i64 = 100_000;
/// The ticks that a report has until the first goroutine, and then for each goroutine. The first
/// name may take long, because a look-up reads all symbols of the program.
const FOR_EACH: i32 = 300;
/// The ticks after which a lock is assumed to stay locked forever.
const LOCKED: i32 = 10;

/// How many steps of a report are ended before the report is given up. A step that waits forever
/// for a lock is ended after a second. Without this limit, a report of a million goroutines that
/// each need that lock would take a week.
const STEPS: i32 = 20;

/// The ticks that are left.
static LEFT: AtomicI32 = AtomicI32::new(0);
/// The ticks that the report has waited for a lock.
static WAITED: AtomicI32 = AtomicI32::new(0);
/// The number of such ticks after which the step is ended.
static PATIENCE: AtomicI32 = AtomicI32::new(LOCKED);
/// How many steps were ended.
static ENDED: AtomicI32 = AtomicI32::new(0);

/// Sets the watchdog on the report of this thread. If the report is given up, what was printed by
/// then has to do.
pub(super) fn give_up_after_a_while() {
    // std prints a panic's message with the lock held that its backtraces take. So a thread that
    // panics would wait for itself.
    PATIENCE.store(if std::thread::panicking() { 1 } else { LOCKED }, Ordering::Relaxed);
    more_time();
    let tick = patience(TICK * 1000) / 1000;
    let tick = libc::timeval { tv_sec: tick / 1_000_000, tv_usec: tick % 1_000_000 };
    let every_tick = libc::itimerval { it_interval: tick, it_value: tick };
    // SAFETY: all zero is a valid action and an empty set. The handler may interrupt anything: it
    // counts, writes to stderr and exits, or ends a step that is guarded.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = watch as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        sigaction(libc::SIGALRM, &action, ptr::null_mut());
        // In a report from a handler, all signals are blocked.
        let mut ours: libc::sigset_t = std::mem::zeroed();
        for sig in [libc::SIGALRM, libc::SIGSEGV, libc::SIGBUS] {
            libc::sigaddset(&mut ours, sig);
        }
        pthread_sigmask(libc::SIG_UNBLOCK, &ours, ptr::null_mut());
        libc::setitimer(libc::ITIMER_REAL, &every_tick, ptr::null_mut());
    }
}

/// Gives the report more time when it makes progress, because there may be many goroutines to
/// print.
pub(super) fn more_time() {
    LEFT.store(FOR_EACH, Ordering::Relaxed);
}

/// Handles a tick: on any thread, or on the reporter's if another thread has passed the tick on.
extern "C" fn watch(sig: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a siginfo and a ucontext, which are this handler's until it
    // returns.
    let (passed, mut context) = unsafe { ((*info).si_code == libc::SI_TKILL, Sigctxt(&mut *context.cast())) };
    let left = if passed { LEFT.load(Ordering::Relaxed) } else { LEFT.fetch_sub(1, Ordering::Relaxed) };
    if left < -LOCKED {
        give_up();
    }
    if !is_reporter() {
        return pass_to_reporter(sig);
    }
    if left < 0 {
        if !end_step(&mut context) {
            give_up();
        }
        return more_time();
    }
    let waited = if context.waits_for_lock() { WAITED.load(Ordering::Relaxed) + 1 } else { 0 };
    let ended = waited >= PATIENCE.load(Ordering::Relaxed) && end_step(&mut context);
    WAITED.store(if ended { 0 } else { waited }, Ordering::Relaxed);
}

/// Ends the step that this context is in, if it can be ended. Returns whether it can.
fn end_step(context: &mut Sigctxt<'_>) -> bool {
    let can_end = end_guarded(context);
    if can_end && ENDED.fetch_add(1, Ordering::Relaxed) >= STEPS {
        give_up();
    }
    can_end
}

/// Ends the process. Prints why, unless that could take forever: the reader of stderr may have
/// stopped reading.
fn give_up() -> ! {
    if poll_now(libc::STDERR_FILENO, libc::POLLOUT) != 0 {
        eprintln!("\n(the report took too long)");
    }
    exit(2)
}
