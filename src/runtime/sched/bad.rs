//! Fatal errors that assembly and signal handlers find: Go's `badmcall` and its kin.

use crate::runtime::arch::getg;
use crate::runtime::base::fatal::{exit, throw};
use crate::runtime::base::print::eprintln;
use crate::runtime::data::runtime2::G;

/// mcall was called on g0: there is no goroutine to leave. Go's `badmcall`.
#[unsafe(no_mangle)]
extern "C" fn gosched_badmcall() -> ! {
    throw("runtime: mcall called on m->g0 stack")
}

/// morestack was called on g0, whose stack can't grow. Go's `badmorestackg0`.
#[unsafe(no_mangle)]
extern "C" fn gosched_badmorestackg0() -> ! {
    let Some(g0) = getg() else { throw("morestack on g0") };
    badmorestackg0(g0, g0.stack.get().lo)
}

/// morestack was called in a signal handler. Go's `badmorestackgsignal`.
#[unsafe(no_mangle)]
extern "C" fn gosched_badmorestackgsignal() -> ! {
    badmorestackgsignal()
}

/// The function of an mcall returned, with nowhere to return to. Go's `badmcall2`.
#[unsafe(no_mangle)]
extern "C" fn gosched_badmcall2() -> ! {
    throw("runtime: mcall function returned")
}

/// systemstack was called on a stack that is no goroutine's, g0's or signal handler's: on an
/// unknown stack, a line and an exit are all that is safe. Go's `badsystemstack`.
#[unsafe(no_mangle)]
extern "C" fn gosched_badsystemstack() -> ! {
    eprintln!("fatal: systemstack called from unexpected goroutine");
    exit(2)
}

/// g0's stack has overflowed at `addr`; called by a signal handler, too. Go's `badmorestackg0`.
pub(in crate::runtime) fn badmorestackg0(g0: &G, addr: usize) -> ! {
    let stack = g0.stack.get();
    eprintln!("runtime: stack overflow on g0, stack [{:#x}, {:#x}], at {addr:#x}", stack.lo, stack.hi);
    throw("morestack on g0")
}

/// A signal handler has overflowed the signal stack; called by the handler of that fault, too. Go's
/// `badmorestackgsignal`.
pub(in crate::runtime) fn badmorestackgsignal() -> ! {
    eprintln!("fatal: morestack on gsignal");
    exit(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::base::testing::dies;

    #[test]
    fn each_says_what_went_wrong() {
        assert!(dies(|| gosched_badmcall()).contains("fatal error: runtime: mcall called on m->g0 stack\n"));
        assert!(dies(|| gosched_badmcall2()).contains("fatal error: runtime: mcall function returned\n"));
        let message = dies(|| gosched_badsystemstack());
        assert_eq!(message, "fatal: systemstack called from unexpected goroutine\n");
        assert_eq!(dies(|| badmorestackgsignal()), "fatal: morestack on gsignal\n");
    }
}
