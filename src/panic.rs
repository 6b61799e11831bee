//! Fatal errors: Go's `throw` and `fatal`, of `panic.go`.
//!
//! A broken invariant of the scheduler is no Rust panic: the process is in no state to unwind. The
//! message, every goroutine and why it waits go to stderr, and the process ends with status 2.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::arch::systemstack;
use crate::debug::gotraceback;
use crate::print::eprintln;
use crate::proc::m::this_m;
use crate::proc::stw::freezetheworld;
use crate::runtime2::{G, StackKind};
use crate::traceback::{Mine, goroutineheader, print_backtrace, printcreatedby, tracebackothers};

/// How many threads have a fatal error to report: the first reports, and the others wait for the end of the
/// process. Go's `panicking`.
static PANICKING: AtomicU32 = AtomicU32::new(0);

/// Values of [`M::throwing`](crate::runtime2::M::throwing). Go's `throwType`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub(crate) enum ThrowType {
    /// An error of the program.
    User = 1,
    /// An error of the runtime.
    Runtime = 2,
}

/// Whether a fatal error is being reported.
pub(crate) fn panicking() -> bool {
    PANICKING.load(Ordering::Relaxed) != 0
}

/// Why the process must end.
pub(crate) enum Fatal<'a> {
    /// What was thrown, and whose error it is.
    Error(&'a str, ThrowType),
    /// A goroutine is at `sp`, and has used more than the `limit` bytes of stack that it may.
    Overflow {
        gp: &'static G,
        sp: usize,
        limit: usize,
        /// Whether its frames are whole, and can be printed.
        whole: bool,
    },
}

/// Reports a fatal error, and ends the process: [`report`], once the runtime starts. A value, because
/// whoever throws is below all that a report looks at.
static REPORTER: OnceLock<fn(Fatal<'_>) -> !> = OnceLock::new();

/// Says who reports fatal errors, for good.
pub(crate) fn set_reporter(report: fn(Fatal<'_>) -> !) {
    REPORTER.get_or_init(|| report);
}

/// Ends the process for a broken invariant. Go's `throw`.
#[cold]
#[inline(never)]
pub(crate) fn throw(s: &str) -> ! {
    systemstack(|| die(Fatal::Error(s, ThrowType::Runtime)))
}

/// Ends the process for an error of the program. Go's `fatal`.
#[cold]
#[inline(never)]
pub(crate) fn fatal(s: &str) -> ! {
    systemstack(|| die(Fatal::Error(s, ThrowType::User)))
}

/// Ends the process because `gp` has overflowed its stack; on g0. `whole` says whether its frames can be printed.
#[cold]
pub(crate) fn overflow(gp: &'static G, sp: usize, limit: usize, whole: bool) -> ! {
    die(Fatal::Overflow { gp, sp, limit, whole })
}

/// On g0, or on a thread that isn't ours. Before the runtime starts there is nothing to report but the message.
fn die(fatal: Fatal<'_>) -> ! {
    if let Some(report) = REPORTER.get() {
        report(fatal)
    }
    if let Fatal::Error(s, _) = fatal {
        eprintln!("fatal error: {s}");
    }
    exit(2)
}

/// The report of a fatal error, and the end of the process. On g0, or on a thread that isn't ours.
pub(crate) fn report(fatal: Fatal<'_>) -> ! {
    match fatal {
        Fatal::Error(s, kind) => {
            startpanic(kind);
            eprintln!("fatal error: {s}");
            dopanic(kind, None)
        }
        Fatal::Overflow { gp, sp, limit, whole } => report_overflow(gp, sp, limit, whole),
    }
}

/// The report of an overflow, and the end of the process: of a goroutine that has written over what lies below
/// its stack, only what is known without reading its frames.
fn report_overflow(gp: &G, sp: usize, limit: usize, whole: bool) -> ! {
    startpanic(ThrowType::User);
    let stack = gp.stack.get();
    eprintln!("runtime: goroutine stack exceeds {limit}-byte limit");
    eprintln!("runtime: sp={sp:#x} stack=[{:#x}, {:#x}]", stack.lo, stack.hi);
    eprintln!("fatal error: stack overflow\n");
    goroutineheader(gp);
    printcreatedby(gp);
    if std::thread::panicking() && gp.ext.kind.get() == StackKind::Copying {
        eprintln!(
            "it was panicking, which takes more than a copying stack has: run what may panic on g0 \
             (systemstack) or on a goroutine with a fixed stack"
        );
    }
    if whole {
        print_backtrace();
    }
    let level = gotraceback();
    if level.frames > 0 && level.always_all {
        eprintln!();
        tracebackothers(Mine::Printed);
    }
    end()
}

/// A goroutine has hit the guard page below its stack: assembly calls this, on g0, with the goroutine's registers in
/// its frame, so that a backtrace leads there.
#[unsafe(no_mangle)]
extern "C" fn gosched_overflow(addr: usize) -> ! {
    let Some(gp) = this_m().and_then(|mp| mp.curg.get()) else { throw("overflow of no goroutine") };
    let stack = gp.stack.get();
    report_overflow(gp, addr, stack.hi - stack.lo, true)
}

/// Prints the stacks that `GOTRACEBACK` asks for, that of `first` before others, and ends the process. Go's
/// `dopanic_m`.
pub(crate) fn dopanic(kind: ThrowType, first: Option<&'static G>) -> ! {
    let level = gotraceback();
    if level.frames > 0 {
        if kind == ThrowType::Runtime {
            eprintln!();
            print_backtrace();
        }
        eprintln!();
        if level.all {
            tracebackothers(Mine::ToPrint { first });
        }
    }
    end()
}

/// Ends the process after a report: with a core dump if `GOTRACEBACK` asks for one.
fn end() -> ! {
    if gotraceback().crash {
        crash()
    }
    exit(2)
}

/// Ends the process with a core dump. Go's `crash`.
fn crash() -> ! {
    // SAFETY: with the default action no handler runs; abort unblocks the signal and doesn't return.
    unsafe {
        libc::signal(libc::SIGABRT, libc::SIG_DFL);
        libc::abort()
    }
}

/// Claims the right to report a fatal error. A thread that comes second waits for the end of the process.
/// Go's `startpanic_m`.
pub(crate) fn startpanic(kind: ThrowType) {
    let mp = this_m();
    if let Some(mp) = mp {
        mp.dying.set(mp.dying.get() + 1);
        if mp.dying.get() > 1 {
            eprintln!("panic during panic");
            exit(3);
        }
        mp.throwing.set(kind as u32);
    }
    if PANICKING.fetch_add(1, Ordering::SeqCst) > 0 {
        loop {
            // SAFETY: takes nothing, and waits for a signal.
            unsafe { libc::pause() };
        }
    }
    give_up_after_a_while();
    freezetheworld();
}

/// Ends the process if the report takes too long: it may wait for a lock that the failing code holds
/// (malloc's, if a stack overflowed there). Then what was printed so far has to do.
fn give_up_after_a_while() {
    extern "C" fn give_up(_: libc::c_int) {
        eprintln!("\n(the report took too long)");
        exit(2);
    }
    // SAFETY: all zero is a valid action and an empty set. The handler may interrupt anything: it writes to
    // stderr and exits.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = give_up as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_ONSTACK;
        libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut());
        let mut alarm: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&mut alarm, libc::SIGALRM);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &alarm, std::ptr::null_mut());
        libc::alarm(5);
    }
}

/// Gives the report more time, as it makes progress: there may be many goroutines to print, and the first may
/// take long, as the symbols of a large program are read then.
pub(crate) fn more_time() {
    // SAFETY: takes no pointer; the handler was set before.
    unsafe { libc::alarm(30) };
}

/// Ends the process at once: no destructor and no atexit handler runs.
pub(crate) fn exit(status: i32) -> ! {
    // SAFETY: takes no pointer, and nothing runs after it.
    unsafe { libc::_exit(status) }
}
