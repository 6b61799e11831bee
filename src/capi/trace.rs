//! The scheduler's events for C: the functions that the stubs of `asm/*/entry.S` jump to, and what
//! calls a tracer of C's. Each `unsafe` block relies on what the function of the same name in
//! `header/` asks of its caller.

use std::ffi::c_int;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::capi::caller::null;
use crate::capi::{Event as CEvent, EventKind};
use crate::runtime::runtime2::{G, M, P};
use crate::runtime::{Event, StwReason, schedtrace, try_set_tracer};

/// A tracer of C's.
type Tracer = unsafe extern "C" fn(*const CEvent);

/// The tracer that C has registered, or null.
static TRACER: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// An event of this kind, with nothing said of it.
fn of_kind(kind: EventKind) -> CEvent {
    let (g, p, m) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    CEvent { kind, number: 0, g, p, m, text: ptr::null() }
}

/// An event of a goroutine.
fn of_g(kind: EventKind, gp: &G) -> CEvent {
    CEvent { g: gp.as_ptr().cast(), ..of_kind(kind) }
}

/// An event of a P.
fn of_p(kind: EventKind, pp: &P) -> CEvent {
    CEvent { p: ptr::from_ref(pp).cast_mut().cast(), ..of_kind(kind) }
}

/// An event of an M.
fn of_m(kind: EventKind, mp: &M) -> CEvent {
    CEvent { m: ptr::from_ref(mp).cast_mut().cast(), ..of_kind(kind) }
}

/// That the world is about to stop. An event has the reason's name, which in C is another string.
fn of_stop(name: &str) -> CEvent {
    let reason = StwReason::ALL.iter().find(|reason| reason.as_str() == name).unwrap_or(&StwReason::Unknown);
    CEvent { number: *reason as i32, text: reason.as_c_str().as_ptr(), ..of_kind(EventKind::StwStart) }
}

/// An event as C knows it.
fn in_c(event: Event<'_>) -> CEvent {
    match event {
        Event::GoCreate(gp) => of_g(EventKind::GoCreate, gp),
        Event::GoCreateBlocked(gp) => of_g(EventKind::GoCreateBlocked, gp),
        Event::GoCreateSyscall(gp) => of_g(EventKind::GoCreateSyscall, gp),
        Event::GoStart(gp) => of_g(EventKind::GoStart, gp),
        Event::GoEnd(gp) => of_g(EventKind::GoEnd, gp),
        Event::GoDestroySyscall(gp) => of_g(EventKind::GoDestroySyscall, gp),
        Event::GoSched(gp) => of_g(EventKind::GoSched, gp),
        Event::GoPreempt(gp) => of_g(EventKind::GoPreempt, gp),
        Event::GoPark(gp, reason) => CEvent { number: reason as i32, ..of_g(EventKind::GoPark, gp) },
        Event::GoUnpark(gp) => of_g(EventKind::GoUnpark, gp),
        Event::GoSysCall(gp) => of_g(EventKind::GoSysCall, gp),
        Event::GoSysExit(gp, lost_p) => CEvent { number: lost_p.into(), ..of_g(EventKind::GoSysExit, gp) },
        Event::ProcStart(pp) => of_p(EventKind::ProcStart, pp),
        Event::ProcStop(pp) => of_p(EventKind::ProcStop, pp),
        Event::ProcSteal(pp) => of_p(EventKind::ProcSteal, pp),
        Event::ProcDetach(pp) => of_p(EventKind::ProcDetach, pp),
        Event::ProcTurn(pp, mp) => {
            CEvent { p: of_p(EventKind::ProcTurn, pp).p, ..of_m(EventKind::ProcTurn, mp) }
        }
        Event::ThreadStart(mp) => of_m(EventKind::ThreadStart, mp),
        Event::ThreadDestroy(mp) => of_m(EventKind::ThreadDestroy, mp),
        Event::GoLabel(gp) => of_g(EventKind::GoLabel, gp),
        Event::StwStart(name) => of_stop(name),
        Event::StwDone => of_kind(EventKind::StwDone),
        Event::Gomaxprocs(n) => CEvent { number: n, ..of_kind(EventKind::Gomaxprocs) },
    }
}

/// Passes an event to C's tracer.
fn pass_on(event: Event<'_>) {
    // SAFETY: gosched_set_tracer stored one, before it registered this.
    let tracer = unsafe { mem::transmute::<*mut (), Tracer>(TRACER.load(Ordering::Relaxed)) };
    // SAFETY: the program passed it to be called so.
    unsafe { tracer(&in_c(event)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_set_tracer_impl(f: Option<Tracer>) -> c_int {
    let Some(f) = f else { null("gosched_set_tracer", "fn") };
    let stored = TRACER.compare_exchange(ptr::null_mut(), f as *mut (), Ordering::Relaxed, Ordering::Relaxed);
    // SAFETY: `pass_on` does as C's tracer does.
    if stored.is_ok() && unsafe { try_set_tracer(pass_on) } { 0 } else { libc::EBUSY }
}

#[unsafe(no_mangle)]
extern "C" fn gosched_schedtrace_impl(detailed: bool) {
    schedtrace(detailed)
}
