//! The report of a fatal error, which ends the process with status 2: Go's `panic.go`.
//!
//! `throw` and `fatal`, in `base/fatal.rs`, call [`report`], and so does a check that finds a stack
//! overflow. For a goroutine that hits its guard page, assembly calls [`gosched_overflow`]. A panic
//! that nothing catches calls [`fatalpanic`]. A panic that is caught ends nothing: a hook only
//! prints its goroutine, in front of std's message. Another hook prints the goroutine behind a
//! sanitizer's report.

use std::fmt::{self, Display, Formatter};
use std::panic::{set_hook, take_hook};
use std::ptr;
use std::sync::atomic::Ordering;
use std::thread;

use crate::runtime::arch::sanitizer::before_death;
use crate::runtime::arch::{Regs, systemstack};
use crate::runtime::base::debug::gotraceback;
use crate::runtime::base::fatal::{Fatal, PANICKING, end_process, exit, throw};
use crate::runtime::base::guarded::become_reporter;
use crate::runtime::base::os::usleep;
use crate::runtime::base::print::{Stderr, eprintln};
use crate::runtime::base::this::{curg, this_m};
use crate::runtime::data::ext::{StackKind, ThrowType};
use crate::runtime::data::runtime2::{G, sched};
use crate::runtime::g::callers::gcallers;
use crate::runtime::p::procs::gomaxprocs;
use crate::runtime::p::stop::{FREEZE_STOP_WAIT, preemptall};
use crate::runtime::report::symbols::Symbols;
use crate::runtime::report::traceback::{
    Mine, Named, Origin, goroutineheader, print_backtrace, traceback, traceback_grouped, traceback_mine,
    tracebackothers,
};
use crate::runtime::report::watchdog::give_up_after_a_while;

/// Reports a fatal error, and ends the process. Called on g0, or on a thread that isn't ours.
pub(in crate::runtime) fn report(fatal: Fatal<'_>) -> ! {
    match fatal {
        Fatal::Error(s, kind) => {
            startpanic(kind);
            eprintln!("fatal error: {s}");
            dopanic(kind, Shown::All)
        }
        Fatal::Overflow { gp, sp, limit, frames } => report_overflow(gp, sp, limit, frames),
    }
}

/// Which goroutines a report shows, unless `GOTRACEBACK` asks for none.
pub(super) enum Shown {
    /// All if `GOTRACEBACK` asks for all, else none, because the report itself has said enough.
    All,
    /// As `All`, with equal stacks grouped, after the goroutine `first`.
    Grouped { first: Option<&'static G> },
    /// All if `GOTRACEBACK` asks for all, else this thread's own.
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
            Shown::Grouped { first } if level.all => traceback_grouped(&mut symbols, first),
            Shown::All | Shown::Mine if level.all => tracebackothers(&mut symbols, Mine::ToPrint),
            Shown::All | Shown::Grouped { .. } => {}
            Shown::Mine => traceback_mine(&mut symbols),
        }
        symbols.explain();
    }
    end_process()
}

/// Claims the right to report a fatal error. A second thread waits for the end of the process. Go's
/// `startpanic_m`.
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
    // One thread gets the 0. SeqCst, as in Go, but nothing else is ordered by it.
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

/// Keeps other M's from running goroutines, as well as it can, while a fatal error is reported.
/// Takes no lock, because the failing code may hold any lock. Go's `freezetheworld`.
fn freezetheworld() {
    if gomaxprocs() == 0 {
        return; // the runtime hasn't started
    }
    // Each round takes a millisecond. As long as a goroutine runs, it may help to ask again.
    for _ in 0..5 {
        sched().stopwait.store(FREEZE_STOP_WAIT, Ordering::Relaxed);
        // SeqCst: see `Schedt::gcwaiting`.
        sched().gcwaiting.store(true, Ordering::SeqCst);
        if !preemptall() {
            break;
        }
        usleep(1000);
    }
}

/// Reports an overflow, and ends the process. Prints first what is known without the goroutine's
/// frames, then the frames from the registers `frames` on, if given. Reads no memory of a goroutine
/// that has written below its stack.
fn report_overflow(gp: &G, sp: usize, limit: usize, frames: Option<&Regs>) -> ! {
    startpanic(ThrowType::User);
    let stack = gp.stack.get();
    eprintln!("runtime: goroutine stack exceeds {limit}-byte limit");
    eprintln!("runtime: sp={sp:#x} stack=[{:#x}, {:#x}]", stack.lo, stack.hi);
    if std::thread::panicking() && gp.ext.kind.get() == StackKind::Copying {
        eprintln!(
            "runtime: it was panicking, which takes more than a copying stack has: run what may panic on g0 \
             (systemstack) or on a goroutine with a fixed stack"
        );
    }
    eprintln!("fatal error: stack overflow\n");
    let level = gotraceback();
    let mut symbols = Symbols::of_the_end();
    goroutineheader(gp);
    let mut out = Stderr::new();
    let _ = match frames.filter(|_| level.frames > 0) {
        Some(regs) => {
            // SAFETY: the goroutine, which this thread has left for g0, is at these registers for
            // good.
            let pcs = unsafe { gcallers(gp, regs) };
            traceback(&mut out, &mut symbols, Some(&pcs), &Origin::of(gp))
        }
        None => Origin::without_ancestors(gp).print(&mut out, &mut symbols),
    };
    if level.frames > 0 && level.always_all {
        eprintln!();
        tracebackothers(&mut symbols, Mine::Printed);
    }
    symbols.explain();
    end_process()
}

/// Reports that a goroutine has hit the guard page below its stack. Assembly calls this on g0, with
/// the goroutine's registers, and with a frame from which an unwinder goes on to the goroutine's
/// frames.
#[unsafe(no_mangle)]
extern "C" fn gosched_overflow(addr: usize, regs: &Regs) -> ! {
    let Some(gp) = curg() else { throw("overflow of no goroutine") };
    let stack = gp.stack.get();
    report_overflow(gp, addr, stack.hi - stack.lo, Some(regs))
}

/// Ends the process because `gp` has panicked, and nothing catches the panic. Go's `fatalpanic`.
#[cold]
pub(crate) fn fatalpanic(gp: &'static G) -> ! {
    systemstack(|| {
        startpanic(ThrowType::None);
        eprintln!("fatal error: {}panicked, and nobody joins it", Whose(gp));
        dopanic(ThrowType::None, Shown::All)
    })
}

/// Ends the process because the running goroutine has panicked, in a language that is ported onto
/// this crate, and doesn't recover. Prints `text` as it is, and the goroutine. Go's `fatalpanic`,
/// after its `printpanics`.
#[cold]
pub(crate) fn fatalpanic_of_port(text: &str) -> ! {
    systemstack(|| {
        startpanic(ThrowType::None);
        eprintln!("{text}");
        dopanic(ThrowType::None, Shown::Mine)
    })
}

/// Installs a hook that prints, in front of std's message of a panic, which goroutine panics. If
/// the program has set a hook of its own, only that hook runs.
pub(in crate::runtime) fn install_panic_hook() {
    // A thread that panics may not change the hook. A destructor that runs while its thread panics
    // may start the runtime.
    if thread::panicking() {
        return;
    }
    let before = take_hook();
    // After the first take_hook, the hook is std's own.
    let std_hook = take_hook();
    if ptr::eq(&raw const *before, &raw const *std_hook) {
        set_hook(Box::new(move |info| {
            print_whose("panics:");
            std_hook(info);
        }));
    } else {
        set_hook(before);
    }
}

/// Makes a sanitizer that ends the process print, behind its report, which goroutine ran on the
/// thread. AddressSanitizer's report knows only threads.
pub(in crate::runtime) fn install_sanitizer_hook() {
    extern "C" fn print() {
        print_whose("ran on that thread");
    }
    before_death(print);
}

/// Prints which goroutine runs here and what it `does`, if this is a goroutine. A foreign thread
/// that is made a goroutine while it waits isn't.
fn print_whose(does: &str) {
    let mp = this_m().filter(|mp| !mp.isextra.get());
    if let Some(gp) = mp.and_then(|mp| mp.curg.get()) {
        systemstack(|| eprintln!("{}{does}", Whose(gp)));
    }
}

/// A goroutine, and where it was made.
pub(super) struct Whose<'a>(pub(super) &'a G);

impl Display for Whose<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Named(self.0))?;
        match self.0.ext.created_at.get() {
            Some(location) => {
                write!(f, ", created at {location} in goroutine {}, ", self.0.parent_goid.get())
            }
            None => f.write_str(" "),
        }
    }
}
