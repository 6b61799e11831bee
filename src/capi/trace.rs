//! A tracer, and the scheduler's events.

use std::ffi::{c_char, c_int};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::capi::caller::null;
use crate::capi::{Goroutine, Machine, Processor};
use crate::runtime::runtime2::{G, M, P};
use crate::runtime::{self, schedtrace, try_set_tracer};

/// What has happened: Go's events, in `trace2event.go`. Behind each, what of `struct gosched_event`
/// is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum EventKind {
    /// A goroutine was made; it is runnable. `g`.
    GoCreate = 0,
    /// A coroutine's goroutine was made; it waits, and is unparked by the first switch to it. `g`.
    GoCreateBlocked = 1,
    /// A thread that isn't the runtime's has become a goroutine, in a system call. `g`.
    GoCreateSyscall = 2,
    /// A goroutine begins to run, or goes on. `g`.
    GoStart = 3,
    /// A goroutine has ended. `g`.
    GoEnd = 4,
    /// A thread that isn't the runtime's, in a system call, is a goroutine no more. `g`.
    GoDestroySyscall = 5,
    /// A goroutine lets others run; it is runnable. `g`.
    GoSched = 6,
    /// A goroutine was asked to let others run; it is runnable. `g`.
    GoPreempt = 7,
    /// A goroutine waits. `g`, and in `number` why: Go's `traceBlockReason`, in `trace2runtime.go`.
    GoPark = 8,
    /// A goroutine that waited is runnable. `g`.
    GoUnpark = 9,
    /// A goroutine enters a system call. `g`.
    GoSysCall = 10,
    /// A goroutine has left a system call. `g`; `number` is 1 if it has lost its P meanwhile, and
    /// so is runnable, 0 if it runs.
    GoSysExit = 11,
    /// This thread gets a P. `p`.
    ProcStart = 12,
    /// This thread gives up its P. `p`.
    ProcStop = 13,
    /// A P is taken from a thread that is in a system call. `p`.
    ProcSteal = 14,
    /// A P is taken from a thread whose goroutine goes on without one. `p`.
    ProcDetach = 15,
    /// This thread gives a P to that of another M, whose goroutine has waited for one. `p`, `m`.
    ProcTurn = 16,
    /// This thread begins, with this M. `m`.
    ThreadStart = 17,
    /// This thread ends, and leaves its M. `m`.
    ThreadDestroy = 18,
    /// The running goroutine has got labels, or has none now. `g`.
    GoLabel = 19,
    /// The running goroutine begins to stop the world. `number` is an `enum gosched_stw_reason`,
    /// `text` its name.
    StwStart = 20,
    /// The world, which the running goroutine has stopped, goes on.
    StwDone = 21,
    /// From now on there are `number` P's.
    Gomaxprocs = 22,
}

/// Something that happens to a goroutine, a P, or a thread. Fields that its kind doesn't set are
/// NULL, or 0.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Event {
    /// What it is.
    pub kind: EventKind,
    /// A reason, or how many: see `enum gosched_event_kind`.
    pub number: i32,
    /// The goroutine that it is about.
    pub g: *mut Goroutine,
    /// The P that it is about.
    pub p: *mut Processor,
    /// The M that it is about.
    pub m: *mut Machine,
    /// A reason in words. It is never freed.
    pub text: *const c_char,
}

// C has only addresses of the opaque types.
#[allow(improper_ctypes)]
unsafe extern "C" {
    /// Registers a tracer, once, before the runtime starts or while it runs: `fn` gets each event,
    /// on the thread where it happens, at that moment. In the latter case it gets events of
    /// goroutines whose beginning it hasn't seen, and some that happen meanwhile may be left out.
    /// What Go's `trace2runtime.go` writes.
    ///
    /// Returns 0, or `EBUSY` if a tracer was registered before.
    ///
    /// # Safety
    /// It can be called anywhere. `fn` is called on the scheduler's stack, or on a thread that
    /// isn't the runtime's; on several threads at once; the events of one goroutine come one after
    /// the other. It doesn't park or unwind, and calls nothing of this file but `gosched_getg`,
    /// `gosched_readgstatus` and what reads one field (`gosched_p_id`): the scheduler may hold
    /// locks. It may allocate, and block its thread for a moment. `event` is good until it returns.
    pub fn gosched_set_tracer(r#fn: Option<unsafe extern "C" fn(event: *const Event)>) -> c_int;

    /// Writes the scheduler's state to stderr: a line as with `GODEBUG=schedtrace=N`, and if
    /// `detailed` also one for each P, M and goroutine, as with `scheddetail=1`. Does nothing
    /// before the runtime has started. Go's `schedtrace`, in `proc.go`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_schedtrace(detailed: bool);
}

/// A tracer of C's.
type Tracer = unsafe extern "C" fn(*const Event);

/// The tracer that C has registered, or null.
static TRACER: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// An event of this kind, with nothing said of it.
fn of_kind(kind: EventKind) -> Event {
    let (g, p, m) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    Event { kind, number: 0, g, p, m, text: ptr::null() }
}

/// An event of a goroutine.
fn of_g(kind: EventKind, gp: &G) -> Event {
    Event { g: gp.as_ptr().cast(), ..of_kind(kind) }
}

/// An event of a P.
fn of_p(kind: EventKind, pp: &P) -> Event {
    Event { p: ptr::from_ref(pp).cast_mut().cast(), ..of_kind(kind) }
}

/// An event of an M.
fn of_m(kind: EventKind, mp: &M) -> Event {
    Event { m: ptr::from_ref(mp).cast_mut().cast(), ..of_kind(kind) }
}

/// That the world is about to stop. An event has the reason's name, which in C is another string.
fn of_stop(name: &str) -> Event {
    let reason = runtime::StwReason::ALL
        .iter()
        .find(|reason| reason.as_str() == name)
        .unwrap_or(&runtime::StwReason::Unknown);
    Event { number: *reason as i32, text: reason.as_c_str().as_ptr(), ..of_kind(EventKind::StwStart) }
}

/// An event as C knows it.
fn in_c(event: runtime::Event<'_>) -> Event {
    match event {
        runtime::Event::GoCreate(gp) => of_g(EventKind::GoCreate, gp),
        runtime::Event::GoCreateBlocked(gp) => of_g(EventKind::GoCreateBlocked, gp),
        runtime::Event::GoCreateSyscall(gp) => of_g(EventKind::GoCreateSyscall, gp),
        runtime::Event::GoStart(gp) => of_g(EventKind::GoStart, gp),
        runtime::Event::GoEnd(gp) => of_g(EventKind::GoEnd, gp),
        runtime::Event::GoDestroySyscall(gp) => of_g(EventKind::GoDestroySyscall, gp),
        runtime::Event::GoSched(gp) => of_g(EventKind::GoSched, gp),
        runtime::Event::GoPreempt(gp) => of_g(EventKind::GoPreempt, gp),
        runtime::Event::GoPark(gp, reason) => Event { number: reason as i32, ..of_g(EventKind::GoPark, gp) },
        runtime::Event::GoUnpark(gp) => of_g(EventKind::GoUnpark, gp),
        runtime::Event::GoSysCall(gp) => of_g(EventKind::GoSysCall, gp),
        runtime::Event::GoSysExit(gp, lost_p) => {
            Event { number: lost_p.into(), ..of_g(EventKind::GoSysExit, gp) }
        }
        runtime::Event::ProcStart(pp) => of_p(EventKind::ProcStart, pp),
        runtime::Event::ProcStop(pp) => of_p(EventKind::ProcStop, pp),
        runtime::Event::ProcSteal(pp) => of_p(EventKind::ProcSteal, pp),
        runtime::Event::ProcDetach(pp) => of_p(EventKind::ProcDetach, pp),
        runtime::Event::ProcTurn(pp, mp) => {
            Event { p: of_p(EventKind::ProcTurn, pp).p, ..of_m(EventKind::ProcTurn, mp) }
        }
        runtime::Event::ThreadStart(mp) => of_m(EventKind::ThreadStart, mp),
        runtime::Event::ThreadDestroy(mp) => of_m(EventKind::ThreadDestroy, mp),
        runtime::Event::GoLabel(gp) => of_g(EventKind::GoLabel, gp),
        runtime::Event::StwStart(name) => of_stop(name),
        runtime::Event::StwDone => of_kind(EventKind::StwDone),
        runtime::Event::Gomaxprocs(n) => Event { number: n, ..of_kind(EventKind::Gomaxprocs) },
    }
}

/// Passes an event to C's tracer.
fn pass_on(event: runtime::Event<'_>) {
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
