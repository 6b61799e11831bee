//! Ending the process for a broken invariant or an error of the program: Go's `throw` and `fatal`.

use std::fmt;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::runtime::arch::syscall::sigaction;
use crate::runtime::arch::tsan;
use crate::runtime::arch::{Regs, systemstack};
use crate::runtime::base::debug::gotraceback;
use crate::runtime::base::print::eprintln;
use crate::runtime::data::ext::ThrowType;
use crate::runtime::data::runtime2::G;

/// How many threads have a fatal error to report. The first thread reports, and the others wait for
/// the end of the process. Go's `panicking`.
pub(in crate::runtime) static PANICKING: AtomicU32 = AtomicU32::new(0);

/// The function that reports a fatal error, and ends the process: `report`, of `report/panic.rs`,
/// once the runtime starts. It is a value, because code that throws is on a lower floor than the
/// reports.
static REPORTER: OnceLock<fn(Fatal<'_>) -> !> = OnceLock::new();

/// The reason why the process must end.
pub(in crate::runtime) enum Fatal<'a> {
    /// The thrown text, and whose error it is.
    Error(&'a str, ThrowType),
    /// A goroutine is at `sp`, and has used more than the `limit` bytes of stack that it may.
    Overflow {
        gp: &'static G,
        sp: usize,
        limit: usize,
        /// The registers from which its frames can be walked; none if it has written over the
        /// frames.
        frames: Option<&'a Regs>,
    },
}

/// Whether a fatal error is being reported.
pub(in crate::runtime) fn panicking() -> bool {
    PANICKING.load(Ordering::Relaxed) != 0
}

/// Sets the function that reports fatal errors, for good.
pub(in crate::runtime) fn set_reporter(report: fn(Fatal<'_>) -> !) {
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

/// [`fatal`], with a message that is formatted where there is room for that.
#[cold]
#[inline(never)]
pub(crate) fn misuse(args: fmt::Arguments<'_>) -> ! {
    systemstack(|| die(Fatal::Error(&args.to_string(), ThrowType::User)))
}

/// Ends the process because `gp` has overflowed its stack. Called on g0. `frames` are the registers
/// from which its frames can be walked, if the frames are intact.
#[cold]
pub(in crate::runtime) fn overflow(gp: &'static G, sp: usize, limit: usize, frames: Option<&Regs>) -> ! {
    die(Fatal::Overflow { gp, sp, limit, frames })
}

/// Called on g0, or on a thread that isn't ours. Before the runtime starts, only the message is
/// reported.
fn die(fatal: Fatal<'_>) -> ! {
    if let Some(report) = REPORTER.get() {
        report(fatal)
    }
    if let Fatal::Error(s, _) = fatal {
        eprintln!("fatal error: {s}");
    }
    end_process()
}

/// The function that is called after the report, when the process ends with an error.
static LAST_WORDS: OnceLock<fn()> = OnceLock::new();

/// Sets the function that [`say_last_words`] calls, for good.
pub(in crate::runtime) fn set_last_words(f: fn()) {
    LAST_WORDS.get_or_init(|| f);
}

/// Calls the function of [`set_last_words`], after the report of an error that ends the process.
pub(in crate::runtime) fn say_last_words() {
    LAST_WORDS.get().inspect(|f| f());
}

/// Ends the process after a report, with a core dump if `GOTRACEBACK` asks for one.
pub(in crate::runtime) fn end_process() -> ! {
    say_last_words();
    if gotraceback().crash {
        crash()
    }
    exit(2)
}

/// Ends the process with a core dump. Go's `crash`.
fn crash() -> ! {
    // SAFETY: all zero is the default action, with which no handler runs; abort unblocks the signal
    // and doesn't return.
    unsafe {
        sigaction(libc::SIGABRT, &std::mem::zeroed(), ptr::null_mut());
        libc::abort()
    }
}

/// Ends the process at once: no destructor and no atexit handler runs.
pub(in crate::runtime) fn exit(status: i32) -> ! {
    tsan::process_ends();
    // SAFETY: takes no pointer, and nothing runs after it.
    unsafe { libc::_exit(status) }
}
