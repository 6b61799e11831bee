//! The report of a goroutine that has used more stack than it has.

use crate::runtime::arch::Regs;
use crate::runtime::base::debug::gotraceback;
use crate::runtime::base::fatal::{end, throw};
use crate::runtime::base::print::{Stderr, eprintln};
use crate::runtime::base::this::curg;
use crate::runtime::data::ext::{StackKind, ThrowType};
use crate::runtime::data::runtime2::G;
use crate::runtime::g::callers::gcallers;
use crate::runtime::report::ancestors::Origin;
use crate::runtime::report::panic::startpanic;
use crate::runtime::report::symbols::Symbols;
use crate::runtime::report::traceback::{Mine, goroutineheader, traceback, tracebackothers};

/// The report of an overflow, and the end of the process: first what is known without the
/// goroutine's frames, then those that begin with `frames`, if they are there. Of a goroutine that
/// has written over what lies below its stack, nothing is read.
pub(super) fn report_overflow(gp: &G, sp: usize, limit: usize, frames: Option<&Regs>) -> ! {
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
    end()
}

/// A goroutine has hit the guard page below its stack: assembly calls this, on g0, with the
/// goroutine's registers, and with a frame from which an unwinder goes on there.
#[unsafe(no_mangle)]
extern "C" fn gosched_overflow(addr: usize, regs: &Regs) -> ! {
    let Some(gp) = curg() else { throw("overflow of no goroutine") };
    let stack = gp.stack.get();
    report_overflow(gp, addr, stack.hi - stack.lo, Some(regs))
}
