//! The report of a goroutine that has used more stack than it has.

use crate::runtime::base::debug::gotraceback;
use crate::runtime::base::fatal::{end, throw};
use crate::runtime::base::print::eprintln;
use crate::runtime::base::this::this_m;
use crate::runtime::data::ext::{StackKind, ThrowType};
use crate::runtime::data::runtime2::G;
use crate::runtime::report::panic::startpanic;
use crate::runtime::report::traceback::{
    Mine, goroutineheader, print_backtrace, printcreatedby, tracebackothers,
};

/// The report of an overflow, and the end of the process: of a goroutine that has written over what lies
/// below its stack, only what is known without reading its frames.
pub(super) fn report_overflow(gp: &G, sp: usize, limit: usize, whole: bool) -> ! {
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

/// A goroutine has hit the guard page below its stack: assembly calls this, on g0, with the goroutine's
/// registers in its frame, so that a backtrace leads there.
#[unsafe(no_mangle)]
extern "C" fn gosched_overflow(addr: usize) -> ! {
    let Some(gp) = this_m().and_then(|mp| mp.curg.get()) else { throw("overflow of no goroutine") };
    let stack = gp.stack.get();
    report_overflow(gp, addr, stack.hi - stack.lo, true)
}
