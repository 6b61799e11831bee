//! Where a thread begins and ends: Go's `mstart0`, `mstart1`, `minit` and `mexit`.
//!
//! Also the fatal errors on a thread's own stacks, which assembly and signal handlers detect: Go's
//! `badmcall` and similar functions.

use std::sync::atomic::Ordering;

use crate::runtime::arch::{getg, sanitizer, setg, thread_pointer};
use crate::runtime::base::fatal::{exit, throw};
use crate::runtime::base::os::{gettid, stack_from_here, thread_stack};
use crate::runtime::base::print::eprintln;
use crate::runtime::base::this::getm;
use crate::runtime::data::runtime2::{G, M, sched};
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::checkdead::checkdead;
use crate::runtime::m::sigstack::{minit_signals, sigblock, unminit_signals};
use crate::runtime::m::startm::take_nextp;
use crate::runtime::m::thread::{FREE_M_REF, FREE_M_WAIT};
use crate::runtime::mem::morestack_check::{forget_stack_limit, remember_stack_limit};
use crate::runtime::mem::sizes::STACK_GUARD;
use crate::runtime::p::owner::releasep;
use crate::runtime::prof::profiler_hooks::{thread_begins, thread_ends};
use crate::runtime::sched::detach::leave_m;
use crate::runtime::sched::handoff::handoffp;
use crate::runtime::sched::schedule::schedule;

/// Whether the system allocates the stacks of threads. It does: pthreads are used. Go's
/// `mStackIsSystemAllocated`.
fn m_stack_is_system_allocated() -> bool {
    true
}

/// Begins an M's thread. `mstart`, in assembly, calls this first. Go's `mstart0`.
#[unsafe(no_mangle)]
extern "C" fn gosched_mstart0() -> ! {
    // Counted before anything that might take a lock.
    sched().ext.turns.starting.fetch_sub(1, Ordering::Relaxed);
    let mp = getm();
    let g0 = &mp.ext.g0;
    if m_stack_is_system_allocated() {
        g0.stack.set(thread_stack().unwrap_or_else(|_| stack_from_here()));
    }
    g0.stackguard0.store(g0.stack.get().lo + STACK_GUARD, Ordering::Relaxed);
    g0.stackguard1.set(g0.stack.get().lo + STACK_GUARD);
    mstart1(mp)
}

/// Prepares the thread and enters the scheduler. Go's `mstart1`.
fn mstart1(mp: &'static M) -> ! {
    minit(mp);
    trace(|| Event::ThreadStart(mp));
    if let Some(f) = mp.mstartfn.get() {
        f();
    }
    if mp.p.is_null() {
        take_nextp(mp);
    }
    // SAFETY: on g0 of `mp`, a new M without a goroutine, which has just got a P.
    unsafe { schedule(mp) }
}

/// Sets up this thread. Go's `minit`.
fn minit(mp: &M) {
    minit_signals(mp);
    mp.ext.tp.set(thread_pointer());
    mp.ext.next_tp.set(thread_pointer());
    remember_stack_limit(mp);
    mp.has_thread(gettid());
    thread_begins(mp);
}

/// Undoes [`minit`]. Go's `unminit`.
fn unminit(mp: &M) {
    forget_stack_limit(mp);
    mp.has_no_thread();
    thread_ends(mp);
    unminit_signals();
}

/// Ends this thread, whose goroutine has ended while it was locked to the thread. Assembly calls
/// this at the base of g0's stack, and then returns to the code that started the thread. Go's
/// `mexit`.
///
/// Destructors of thread-locals run after that. To them, the thread is a foreign thread.
#[unsafe(no_mangle)]
extern "C" fn gosched_mexit() {
    let mp = getm();
    sigblock();
    unminit(mp);
    sanitizer::thread_ends(mp);
    lock(&sched().lock);
    mp.free_wait.store(FREE_M_WAIT, Ordering::Relaxed);
    mp.freelink.set(sched().freem.get());
    sched().freem.set(Some(mp));
    unlock(&sched().lock);
    if !mp.p.is_null() || leave_m(mp) {
        handoffp(releasep(mp));
    }
    trace(|| Event::ThreadDestroy(mp));
    // Counted only now, when an M may have been started for the P. Otherwise checkdead might find
    // that no M runs.
    lock(&sched().lock);
    sched().nmfreed.set(sched().nmfreed.get() + 1);
    checkdead();
    unlock(&sched().lock);
    // SAFETY: the thread isn't ours any more, and g0 is left: assembly pops its last frame.
    unsafe { setg(None) };
    // Release pairs with reuse_m, which gives the M to another thread.
    mp.free_wait.store(FREE_M_REF, Ordering::Release);
}

/// Throws because mcall was called on g0, where there is no goroutine to leave. Go's `badmcall`.
#[unsafe(no_mangle)]
extern "C" fn gosched_badmcall() -> ! {
    throw("runtime: mcall called on m->g0 stack")
}

/// Throws because morestack was called on g0, whose stack can't grow. Go's `badmorestackg0`.
#[unsafe(no_mangle)]
extern "C" fn gosched_badmorestackg0() -> ! {
    let Some(g0) = getg() else { throw("morestack on g0") };
    badmorestackg0(g0, g0.stack.get().lo)
}

/// Ends the process because morestack was called in a signal handler. Go's `badmorestackgsignal`.
#[unsafe(no_mangle)]
extern "C" fn gosched_badmorestackgsignal() -> ! {
    badmorestackgsignal()
}

/// Throws because the function of an mcall returned, with nowhere to return to. Go's `badmcall2`.
#[unsafe(no_mangle)]
extern "C" fn gosched_badmcall2() -> ! {
    throw("runtime: mcall function returned")
}

/// Ends the process because systemstack was called on a stack that belongs to no goroutine, g0 or
/// signal handler. On an unknown stack only a line and an exit are safe. Go's `badsystemstack`.
#[unsafe(no_mangle)]
extern "C" fn gosched_badsystemstack() -> ! {
    eprintln!("fatal: systemstack called from unexpected goroutine");
    exit(2)
}

/// Ends the process because g0's stack has overflowed at `addr`. A signal handler may call this.
/// Go's `badmorestackg0`.
pub(in crate::runtime) fn badmorestackg0(g0: &G, addr: usize) -> ! {
    let stack = g0.stack.get();
    eprintln!("runtime: stack overflow on g0, stack [{:#x}, {:#x}], at {addr:#x}", stack.lo, stack.hi);
    throw("morestack on g0")
}

/// Ends the process because a signal handler has overflowed the signal stack. The handler of that
/// fault may call this. Go's `badmorestackgsignal`.
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
