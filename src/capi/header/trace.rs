//! What C programs see of the scheduler's events.

use std::ffi::{c_char, c_int};

use crate::capi::{Goroutine, Machine, Processor};

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
