//! Events of the scheduler, for a tracer to be built on: what Go's `trace2runtime.go` emits.

use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering, fence};

use crate::runtime::arch::systemstack;
use crate::runtime::data::runtime2::{G, M, P, TraceBlockReason};
use crate::runtime::embed::hooks::listener;

/// An event of a goroutine, a P, or a thread. A goroutine is runnable once it is created, runs from
/// a start to its next event, and waits between a park and an unpark.
#[non_exhaustive]
#[derive(Clone, Copy)]
pub enum Event<'a> {
    /// A goroutine was made; it is runnable.
    GoCreate(&'a G),
    /// A coroutine's goroutine was made; it waits, and is unparked by the first switch to it.
    GoCreateBlocked(&'a G),
    /// A thread that isn't ours has become a goroutine, in a system call.
    GoCreateSyscall(&'a G),
    /// A goroutine begins to run, or goes on.
    GoStart(&'a G),
    /// A goroutine has ended.
    GoEnd(&'a G),
    /// A thread that isn't ours, in a system call, is a goroutine no more.
    GoDestroySyscall(&'a G),
    /// A goroutine lets others run; it is runnable.
    GoSched(&'a G),
    /// A goroutine was asked to let others run; it is runnable.
    GoPreempt(&'a G),
    /// A goroutine waits; `waitreason` in the `G` says more about why.
    GoPark(&'a G, TraceBlockReason),
    /// A goroutine that waited is runnable.
    GoUnpark(&'a G),
    /// A goroutine enters a system call.
    GoSysCall(&'a G),
    /// A goroutine has left a system call. If it has lost its P meanwhile, it is runnable;
    /// otherwise it runs.
    GoSysExit(&'a G, bool),
    /// This thread gets a P.
    ProcStart(&'a P),
    /// This thread gives up its P.
    ProcStop(&'a P),
    /// A P is taken from a thread that is in a system call.
    ProcSteal(&'a P),
    /// A P is taken from a thread whose goroutine goes on without one. The goroutine's events until
    /// it has a P again are reported as if it had one.
    ProcDetach(&'a P),
    /// This thread gives a P to the thread of this M, whose goroutine has waited for a P and goes
    /// on with it.
    ProcTurn(&'a P, &'a M),
    /// This thread begins, with this M.
    ThreadStart(&'a M),
    /// This thread ends, and leaves its M.
    ThreadDestroy(&'a M),
    /// The running goroutine has got these labels, or has none now.
    GoLabel(&'a G),
    /// The running goroutine begins to stop the world, for this reason.
    StwStart(&'static str),
    /// The world, which the running goroutine has stopped, goes on.
    StwDone,
    /// The number of P's changes to this.
    Gomaxprocs(i32),
}

/// A function that gets each [`Event`] at the moment when it happens, and on the thread where it
/// happens.
pub type Tracer = fn(Event<'_>);

/// Registers a tracer, once, before the runtime starts or while it runs. A tracer that is
/// registered while the runtime runs also gets events of goroutines whose beginning it hasn't seen,
/// and some events that happen meanwhile may be left out. Without a tracer, an event costs a load
/// and a branch.
///
/// The tracer runs on g0, on a stack of some 200 KiB, or on a thread that isn't the runtime's; on
/// several threads at once. Events of one goroutine come one after the other. While there is a
/// tracer, a goroutine that has [lost its P](crate::proc::preemption) doesn't wait for its turn,
/// because the tracer may want what that goroutine holds, such as malloc's lock. So more goroutines
/// may compute at once than there are P's.
///
/// # Panics
/// If a tracer was registered before.
///
/// # Safety
/// The tracer doesn't park or unwind. Of this crate, it calls only
/// [`proc::getg`](crate::proc::getg) and [`labels_of`](crate::labels::labels_of): the scheduler is
/// in the middle of something, and may hold locks. The tracer may read the fields of the structs
/// that it gets, with care for fields that other threads write. It may allocate, and block its
/// thread for a moment.
pub unsafe fn set_tracer(f: Tracer) {
    // SAFETY: the caller keeps to what this function's doc asks for.
    let set = unsafe { try_set_tracer(f) };
    assert!(set, "gosched: a tracer was registered already, and there can be one");
}

/// [`set_tracer`], but returns false if a tracer was registered before.
///
/// # Safety
/// As [`set_tracer`].
pub(crate) unsafe fn try_set_tracer(f: Tracer) -> bool {
    // Release pairs with the fence in call: the data that the tracer needs was made before.
    let set = TRACER.compare_exchange(ptr::null_mut(), f as *mut (), Ordering::Release, Ordering::Relaxed);
    if set.is_ok() {
        listen();
    }
    set.is_ok()
}

/// The function that [`set_tracer`] registered, or null.
static TRACER: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// The function that [`set_recorder`] set, or null.
static RECORDER: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Sets the runtime's own tracer, which gets events beside a registered one; `None` removes it. A
/// recorder keeps a tracer's conditions, may also be called in a signal handler, and takes no lock
/// that a goroutine may hold.
pub(in crate::runtime) fn set_recorder(f: Option<Tracer>) {
    let f = f.map_or(ptr::null_mut(), |f| f as *mut ());
    // Release pairs with the fence in call: the data that the recorder needs was made before.
    RECORDER.store(f, Ordering::Release);
    listen();
}

/// Makes the tracer, the recorder or [`both`] the function that gets events, even if another thread
/// changes these meanwhile.
fn listen() {
    // SeqCst, as the store below: the second look comes after that store.
    let who = || match (TRACER.load(Ordering::SeqCst), RECORDER.load(Ordering::SeqCst)) {
        (tracer, recorder) if recorder.is_null() => tracer,
        (tracer, recorder) if tracer.is_null() => recorder,
        _ => both as Tracer as *mut (),
    };
    loop {
        let now = who();
        // SeqCst: the recorder, once begun, looks at all goroutines after this store. And the
        // second look at the listeners comes after it.
        listener().store(now, Ordering::SeqCst);
        if who() == now {
            break;
        }
    }
}

/// Passes an event to the recorder and to the tracer.
fn both(event: Event<'_>) {
    for f in [&RECORDER, &TRACER] {
        let f = f.load(Ordering::Acquire);
        if !f.is_null() {
            // SAFETY: a pointer that isn't null was made from a Tracer, by set_tracer or
            // set_recorder.
            unsafe { mem::transmute::<*mut (), Tracer>(f)(event) }
        }
    }
}

/// Whether a tracer was registered.
#[inline(always)]
pub(in crate::runtime) fn tracing() -> bool {
    !TRACER.load(Ordering::Relaxed).is_null()
}

/// Whether anybody gets events.
#[inline(always)]
pub(in crate::runtime) fn listened() -> bool {
    !listener().load(Ordering::Relaxed).is_null()
}

/// Passes an event to the listener. Without a listener, the event isn't made.
#[inline(always)]
pub(in crate::runtime) fn trace<'a>(event: impl FnOnce() -> Event<'a>) {
    let f = listener().load(Ordering::Relaxed);
    if !f.is_null() {
        call(f, event);
    }
}

#[cold]
#[inline(never)]
fn call<'a>(f: *mut (), event: impl FnOnce() -> Event<'a>) {
    // Pairs with the releases in set_tracer and set_recorder.
    fence(Ordering::Acquire);
    // SAFETY: a pointer that isn't null was made from a Tracer, and stored by listen.
    let f = unsafe { mem::transmute::<*mut (), Tracer>(f) };
    systemstack(|| f(event()));
}
