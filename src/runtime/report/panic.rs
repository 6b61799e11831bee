//! The report of a fatal error, which ends the process with status 2: Go's `startpanic`, `dopanic`
//! and `freezetheworld`. `throw` and `fatal`, in `base/fatal.rs`, call it.

use std::sync::atomic::Ordering;

use crate::runtime::base::debug::gotraceback;
use crate::runtime::base::fatal::{Fatal, PANICKING, end, exit};
use crate::runtime::base::guarded::become_reporter;
use crate::runtime::base::os::usleep;
use crate::runtime::base::print::eprintln;
use crate::runtime::base::this::this_m;
use crate::runtime::data::ext::ThrowType;
use crate::runtime::data::runtime2::{G, sched};
use crate::runtime::p::procs::gomaxprocs;
use crate::runtime::p::stop::{FREEZE_STOP_WAIT, preemptall};
use crate::runtime::report::overflow::report_overflow;
use crate::runtime::report::symbols::Symbols;
use crate::runtime::report::traceback::{Mine, print_backtrace, traceback_mine, tracebackothers};
use crate::runtime::report::watchdog::give_up_after_a_while;

/// The report of a fatal error, and the end of the process. On g0, or on a thread that isn't ours.
pub(in crate::runtime) fn report(fatal: Fatal<'_>) -> ! {
    match fatal {
        Fatal::Error(s, kind) => {
            startpanic(kind);
            eprintln!("fatal error: {s}");
            dopanic(kind, Shown::All { first: None })
        }
        Fatal::Overflow { gp, sp, limit, frames } => report_overflow(gp, sp, limit, frames),
    }
}

/// Which goroutines a report shows, where `GOTRACEBACK` doesn't say that it is none.
pub(super) enum Shown {
    /// All if it asks for that, else none: the report itself has said enough. `first` comes before
    /// others.
    All { first: Option<&'static G> },
    /// All if it asks for that, else this thread's own.
    Mine,
}

/// Prints stacks, and ends the process. Go's `dopanic_m`.
pub(super) fn dopanic(kind: ThrowType, shown: Shown) -> ! {
    let level = gotraceback();
    if level.frames > 0 {
        let mut symbols = Symbols::of_the_end();
        if kind == ThrowType::Runtime {
            eprintln!();
            print_backtrace(&mut symbols);
        }
        eprintln!();
        match shown {
            Shown::All { first } if level.all => tracebackothers(&mut symbols, Mine::ToPrint { first }),
            Shown::All { .. } => {}
            Shown::Mine if level.all => tracebackothers(&mut symbols, Mine::ToPrint { first: None }),
            Shown::Mine => traceback_mine(&mut symbols),
        }
        symbols.explain();
    }
    end()
}

/// Claims the right to report a fatal error. A thread that comes second waits for the end of the
/// process. Go's `startpanic_m`.
pub(super) fn startpanic(kind: ThrowType) {
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
    become_reporter();
    give_up_after_a_while();
    freezetheworld();
}

/// Keeps other M's from running goroutines, as well as it can, while a fatal error is reported:
/// takes no lock, as the failing code may hold any. Go's `freezetheworld`.
fn freezetheworld() {
    if gomaxprocs() == 0 {
        return; // the runtime hasn't started
    }
    // Each round is a millisecond; as long as a goroutine runs, it may help to ask again.
    for _ in 0..5 {
        sched().stopwait.store(FREEZE_STOP_WAIT, Ordering::Relaxed);
        sched().gcwaiting.store(true, Ordering::SeqCst);
        if !preemptall() {
            break;
        }
        usleep(1000);
    }
}
