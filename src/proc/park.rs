//! Parking a goroutine, and making it ready again: Go's `gopark` and `goready`.
//!
//! A park has two halves. [`gopark`], on the goroutine's stack, notes what is to be done
//! once it is off; `park_m`, on g0, makes it waiting and then does that: as a rule,
//! releases the lock of the queue that the goroutine has entered. From then on it may be
//! made ready, and run by another thread, which is why the lock can't be released before
//! the goroutine has left its stack.
//!
//! So nothing obtained from a thread-local may be kept across a point that can park. In
//! the runtime nothing is; the program has promised it where it entered [`run`](crate::run).

use std::ffi::c_void;
use std::ptr;

use crate::arch::{getg, mcall};
use crate::lock::unlock;
use crate::panic::throw;
use crate::proc::gqueue::GList;
use crate::proc::inject::injectglist;
use crate::proc::lockosthread::wire_while_panicking;
use crate::proc::m::{acquirem, getm, releasem};
use crate::proc::runq::runqput;
use crate::proc::schedule::{dropg, execute, schedule};
use crate::proc::status::{casgstatus, dumpgstatus, readgstatus};
use crate::proc::trace::{Event, trace};
use crate::proc::wake::wakep;
use crate::runtime2::{
    G, GRUNNABLE, GRUNNING, GSCAN, GWAITING, M, Mutex, TraceBlockReason, Unlockf, WaitReason,
};

/// Parks the running goroutine until [`goready`]. Once it is off its stack,
/// `unlockf(gp, lock)` is called on g0; if that returns false, the goroutine goes on at
/// once. Go's `gopark`.
///
/// # Safety
/// On a goroutine with a P; nothing obtained from a thread-local is kept across this.
/// `unlockf` must not touch the goroutine's stack, must not park, and must not unwind; if
/// it returns false, nothing may make the goroutine ready. Without an `unlockf`, whatever
/// makes the goroutine ready must know of it already.
#[inline(never)]
pub(crate) unsafe fn gopark(
    unlockf: Option<Unlockf>,
    lock: *mut c_void,
    reason: WaitReason,
    trace_reason: TraceBlockReason,
    traceskip: i32,
) {
    let (gp, mp) = goroutine();
    // SAFETY: the caller keeps gopark's conditions, and these are the running goroutine and its M.
    unsafe { gopark_on(gp, mp, unlockf, lock, reason, trace_reason, traceskip) }
}

/// [`gopark`] for a caller that knows its goroutine and M.
///
/// # Safety
/// As [`gopark`]; `gp` is the running goroutine, and `mp` its M.
#[inline(always)]
pub(crate) unsafe fn gopark_on(
    gp: &'static G,
    mp: &'static M,
    unlockf: Option<Unlockf>,
    lock: *mut c_void,
    reason: WaitReason,
    trace_reason: TraceBlockReason,
    traceskip: i32,
) {
    wire_while_panicking(gp, mp);
    let status = readgstatus(gp);
    if status & !GSCAN != GRUNNING {
        throw("gopark: bad g status");
    }
    mp.waitlock.set(lock);
    mp.waitunlockf.set(unlockf);
    gp.waitreason.set(reason);
    mp.wait_trace_block_reason.set(trace_reason);
    mp.wait_trace_skip.set(traceskip);
    // SAFETY: on a goroutine, as the caller says; park_m makes it waiting, and what the caller has seen
    // to makes it ready.
    unsafe { mcall(park_m) }
}

/// The running goroutine and its M. Throws where no goroutine can park: on g0, and on a thread
/// that isn't ours.
#[inline(always)]
pub(crate) fn goroutine() -> (&'static G, &'static M) {
    let Some(gp) = getg() else { throw("park on a thread that isn't a goroutine's") };
    match gp.m.get() {
        Some(mp) if !ptr::eq(gp, &mp.ext.g0) => (gp, mp),
        _ => throw("park on g0: only a goroutine can"),
    }
}

/// Whether the caller could park: it is on a goroutine with a P, not on g0, in a system call, or on a
/// foreign thread.
pub(crate) fn on_goroutine() -> bool {
    matches!(whoami(), (Some(_), _))
}

/// The running goroutine, if the caller could park, and its M, if it has one. There is no such
/// goroutine on g0 or a foreign thread, and in a system call there is no P to park with.
#[inline(always)]
pub(crate) fn whoami() -> (Option<&'static G>, Option<&'static M>) {
    let gp = getg();
    let mp = gp.and_then(|gp| gp.m.get());
    (gp.filter(|gp| mp.is_some_and(|mp| !ptr::eq(*gp, &mp.ext.g0) && !mp.p.is_null())), mp)
}

/// [`gopark`] that releases `lock`, a runtime lock that the caller holds, and whose memory is
/// never given back (`lock/key.rs`). Whatever takes the lock next may make the goroutine ready.
/// Go's `goparkunlock`.
pub(crate) fn goparkunlock(lock: &Mutex, reason: WaitReason, trace_reason: TraceBlockReason, traceskip: i32) {
    let lock = ptr::from_ref(lock).cast_mut().cast();
    // SAFETY: gopark checks that this is a goroutine, and nothing here is a thread-local's. parkunlock_c
    // touches the lock alone, doesn't park or unwind, and returns true.
    unsafe { gopark(Some(parkunlock_c), lock, reason, trace_reason, traceskip) }
}

/// What a park of [`goparkunlock`] does on g0. Go's `parkunlock_c`.
///
/// # Safety
/// `lock` is a [`Mutex`] that this M holds.
unsafe extern "C" fn parkunlock_c(_gp: *mut G, lock: *mut c_void) -> bool {
    // SAFETY: goparkunlock passed a mutex whose memory is never given back.
    unlock(unsafe { &*lock.cast::<Mutex>() });
    true
}

/// What [`gopark`] does on g0. Go's `park_m`.
unsafe extern "C" fn park_m(gp: *mut G) -> ! {
    // SAFETY: mcall passes the G that called it, and G's are never freed.
    let gp: &'static G = unsafe { &*gp };
    let mp = getm();
    trace(|| Event::GoPark(gp, mp.wait_trace_block_reason.get()));
    casgstatus(gp, GRUNNING, GWAITING);
    dropg(mp, gp);
    if let Some(unlockf) = mp.waitunlockf.get() {
        // SAFETY: gopark's caller has promised that this may be called now: the goroutine is off its stack
        // and waits, and this is g0.
        let stay = unsafe { unlockf(gp.as_ptr(), mp.waitlock.get()) };
        mp.waitunlockf.set(None);
        mp.waitlock.set(ptr::null_mut());
        if !stay {
            trace(|| Event::GoUnpark(gp));
            casgstatus(gp, GWAITING, GRUNNABLE);
            // SAFETY: on g0 of `mp`, which keeps its P. The G is runnable and on no queue, as nothing makes
            // it ready if `unlockf` returns false; and if it is locked, then to this M, where it ran.
            unsafe { execute(mp, gp, true) }
        }
    }
    // SAFETY: on g0 of `mp`, which keeps its P; dropg has taken its goroutine.
    unsafe { schedule(mp) }
}

/// Makes a parked goroutine ready to run. On a goroutine or g0 it is next on this P; on a
/// thread that isn't ours it goes to the global queue. Go's `goready`.
#[inline(never)]
pub(crate) fn goready(gp: &'static G) {
    ready(gp, true);
}

/// [`goready`]; the goroutine runs next only if `next` says so. Go's `ready`.
pub(crate) fn ready(gp: &'static G, next: bool) {
    let mp = acquirem();
    ready_on(mp, gp, next);
    releasem(mp);
}

/// [`ready`] for a caller that knows its M, and stays on it.
#[inline(always)]
pub(crate) fn ready_on(mp: Option<&'static M>, gp: &'static G, next: bool) {
    let pp = mp.and_then(|mp| mp.p.get());
    if readgstatus(gp) & !GSCAN != GWAITING {
        dumpgstatus(gp);
        throw("bad g->status in ready");
    }
    match pp {
        Some(pp) => {
            casgstatus(gp, GWAITING, GRUNNABLE);
            trace(|| Event::GoUnpark(gp));
            runqput(pp, gp, next);
            wakep();
        }
        None => {
            let list = GList::default();
            list.push(gp);
            injectglist(&list);
        }
    }
}
