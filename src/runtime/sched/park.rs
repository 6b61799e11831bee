//! A goroutine leaves its stack and stays alive: it waits, lets others run, or was asked to stop.
//! Go's `gopark`, `goparkunlock` and `park_m`; `Gosched`, `goschedguarded`, `goschedIfBusy` and
//! `goyield`; `asyncPreempt2`, `gopreempt_m` and `preemptPark`.
//!
//! A park has two halves. [`gopark`], on the goroutine's stack, notes a function to call once the
//! goroutine is off the stack. `park_m`, on g0, makes the goroutine waiting, and calls the
//! function. As a rule, the function releases the lock of the queue that the goroutine has entered.
//! From then on another thread may make the goroutine ready and run it. So the lock can't be
//! released before the goroutine has left its stack.
//!
//! A goroutine that lets others run stays runnable. It goes to the end of the global queue, or by
//! `goyield` to the end of its P's queue. A goroutine that was asked to stop goes to the global
//! queue, too, unless another thread suspends it: then it waits until that thread has finished with
//! it (`preempt_park`).
//!
//! Also Go's `sync_runtime_canSpin` and `sync_runtime_doSpin`: a goroutine that waits for a mutex
//! keeps its P for a moment before it sleeps.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::runtime::arch::{gogo, mcall, procyield, tsan};
use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::{getm, goroutine, hold_p};
use crate::runtime::data::runtime2::{
    G, GPREEMPTED, GRUNNABLE, GRUNNING, GSCAN, GSCANPREEMPTED, GWAITING, M, Mutex, P, TraceBlockReason,
    Unlockf, WaitReason, sched,
};
use crate::runtime::embed::hooks::hooks;
use crate::runtime::embed::trace::{Event, listened, trace};
use crate::runtime::g::explored::exploring;
use crate::runtime::g::status::{
    cas_g_from_preempted, cas_g_to_preempt_scan, casfrom_gscanstatus, casgstatus, dumpgstatus, readgstatus,
};
use crate::runtime::lock::port_mutex::{PortMutex, unlock_of_port};
use crate::runtime::lock::{lock_on, unlock, unlock_on};
use crate::runtime::m::lockosthread::wire_while_panicking;
use crate::runtime::m::turn::{turn_needed, turns_waiting};
use crate::runtime::mem::guard::UNGUARDED;
use crate::runtime::mem::morestack_check::stop_if_asked;
use crate::runtime::p::procs::gomaxprocs;
use crate::runtime::p::runq::{globrunqput, runqempty, runqput};
use crate::runtime::p::stop::asked_to_stop;
use crate::runtime::preempt::preemptible::can_preempt_m;
use crate::runtime::preempt::xregs::x_reg_save;
use crate::runtime::sched::abort::end_wait_if_marked;
use crate::runtime::sched::claim::{Source, claim, run_claimed, unclaim};
use crate::runtime::sched::detach::need_p;
use crate::runtime::sched::poll::own_timers_due;
use crate::runtime::sched::ready::ready;
use crate::runtime::sched::schedule::{dropg, execute, schedule, user_disabled};
use crate::runtime::sched::wake::{pay_wakes, wakep};

/// [`proc::gopark`](crate::proc::gopark) without the check of the stack, for an `unlockf` of the
/// program's. Such an `unlockf` needs the thread-locals of the M's thread, so nothing is claimed.
///
/// # Safety
/// As the raw one, on a goroutine.
#[inline(never)]
pub(crate) unsafe fn gopark_of_program(
    unlockf: Option<Unlockf>,
    lock: *mut c_void,
    reason: WaitReason,
    trace_reason: TraceBlockReason,
    traceskip: i32,
) {
    let (gp, mp) = goroutine();
    note_park(gp, mp, unlockf, lock, reason, trace_reason, traceskip);
    // SAFETY: on a goroutine, as the caller says; park_m makes it waiting, and the caller has
    // arranged for it to be made ready.
    unsafe { mcall(park_m::<false>) }
}

/// Parks the running goroutine: see [`proc::gopark`](crate::proc::gopark). Go's `gopark`.
///
/// # Safety
/// As the raw one, on a goroutine. `unlockf` is the runtime's, and uses no thread-local that has a
/// destructor.
#[inline(never)]
pub(in crate::runtime) unsafe fn gopark(
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
pub(in crate::runtime) unsafe fn gopark_on(
    gp: &'static G,
    mp: &'static M,
    unlockf: Option<Unlockf>,
    lock: *mut c_void,
    reason: WaitReason,
    trace_reason: TraceBlockReason,
    traceskip: i32,
) {
    note_park(gp, mp, unlockf, lock, reason, trace_reason, traceskip);
    let park_m = if claim(gp, mp, Source::Local) { park_m::<true> } else { park_m::<false> };
    // SAFETY: on a goroutine, as the caller says; park_m makes it waiting, and the caller has
    // arranged for it to be made ready.
    unsafe { mcall(park_m) }
}

/// The first half of a park: notes what the second half is to do.
#[inline(always)]
fn note_park(
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
}

/// [`gopark`] that releases `lock`, a runtime lock that the caller holds and whose memory is never
/// given back (`lock/key.rs`). The next thread that takes the lock may make the goroutine ready.
/// Go's `goparkunlock`.
pub(crate) fn goparkunlock(lock: &Mutex, reason: WaitReason, trace_reason: TraceBlockReason, traceskip: i32) {
    tsan::release(&lock.key.locked);
    let lock = ptr::from_ref(lock).cast_mut().cast();
    // SAFETY: gopark checks that this is a goroutine, and nothing here comes from a thread-local.
    // parkunlock_c touches the lock alone, doesn't park or unwind, and returns true.
    unsafe { gopark(Some(parkunlock_c), lock, reason, trace_reason, traceskip) }
}

/// The part of [`goparkunlock`] on g0: releases the lock. Go's `parkunlock_c`.
///
/// # Safety
/// `lock` is a [`Mutex`] that this M holds.
unsafe extern "C" fn parkunlock_c(_gp: *mut G, lock: *mut c_void) -> bool {
    // SAFETY: goparkunlock passed a mutex whose memory is never given back.
    unlock(unsafe { &*lock.cast::<Mutex>() });
    true
}

/// [`goparkunlock`] for a lock of a port's.
pub(crate) fn goparkunlock_of_port(lock: &PortMutex, reason: WaitReason) {
    /// # Safety
    /// `lock` is a [`PortMutex`] that this M holds.
    unsafe extern "C" fn parkunlock(_gp: *mut G, lock: *mut c_void) -> bool {
        // SAFETY: the lock that is passed below, which stays until it is released.
        unlock_of_port(unsafe { &*lock.cast::<PortMutex>() });
        true
    }

    tsan::release(&lock.key);
    let lock = ptr::from_ref(lock).cast_mut().cast();
    // SAFETY: as in goparkunlock.
    unsafe { gopark(Some(parkunlock), lock, reason, TraceBlockReason::Generic, 4) }
}

/// The part of [`gopark`] on g0; with a claim, if `CLAIMED`. Go's `park_m`.
unsafe extern "C" fn park_m<const CLAIMED: bool>(gp: *mut G) -> ! {
    // SAFETY: mcall passes the G that called it, and G's are never freed.
    let gp: &'static G = unsafe { &*gp };
    let mp = getm();
    casgstatus(gp, GRUNNING, GWAITING);
    trace(|| Event::GoPark(gp, mp.wait_trace_block_reason.get()));
    dropg(mp, gp);
    if let Some(unlockf) = mp.waitunlockf.get() {
        // SAFETY: gopark's caller has promised that this may be called now: the goroutine is off
        // its stack and waits, and this is g0.
        let stay = unsafe { unlockf(gp.as_ptr(), mp.waitlock.get()) };
        if !stay {
            if CLAIMED {
                unclaim(mp);
            }
            casgstatus(gp, GWAITING, GRUNNABLE);
            trace(|| Event::GoUnpark(gp));
            if mp.p.is_null() {
                need_p(mp);
            }
            // `unlockf` may have made another goroutine ready, or started a timer.
            pay_wakes(mp);
            // SAFETY: on g0 of `mp`, which has a P. The G is runnable and on no queue, as nothing
            // makes it ready if `unlockf` returns false. If it is locked, it is locked to this M,
            // where it ran.
            unsafe { execute(mp, gp, true) }
        }
    }
    end_wait_if_marked(gp);
    // SAFETY: on g0 of `mp`; dropg has taken its goroutine.
    unsafe { if CLAIMED { run_claimed(mp) } else { schedule(mp) } }
}

/// [`proc::gosched`](crate::proc::gosched) without the check of the stack. Go's `Gosched`.
///
/// # Safety
/// As the raw one, on a goroutine.
#[inline(never)]
pub(crate) unsafe fn gosched() {
    let (gp, mp) = goroutine();
    wire_while_panicking(gp, mp);
    if stays(gp, mp) {
        return;
    }
    let gosched_m = if claim(gp, mp, Source::Global) { gosched_m::<true> } else { gosched_m::<false> };
    // SAFETY: on a goroutine, as goroutine() has checked; gosched_m puts it on the global queue.
    unsafe { mcall(gosched_m) }
}

/// Begins another time slice of `gp`, the goroutine of `mp`, if the scheduler would run `gp` again
/// at once: no other is runnable, and no thread waits for `gp` to leave or for the scheduler's next
/// round. Returns whether it does.
#[inline(always)]
fn stays(gp: &G, mp: &'static M) -> bool {
    // As a rule there is another goroutine, so this cheap look comes first. The P may be another
    // M's by now, and then its queue says nothing.
    let empty = |pp: &P| pp.steal().len() == 0;
    sched().runqsize.load(Ordering::Relaxed) == 0 && mp.p.peek().is_some_and(empty) && stays_alone(gp, mp)
}

#[inline(never)]
fn stays_alone(gp: &G, mp: &'static M) -> bool {
    if gp.preempt_stop.load(Ordering::Relaxed) {
        // Stops here, because it may come to no other check, and gosched would take it off its
        // stack only for a moment.
        stop_if_asked();
        return true;
    }
    let held = hold_p(mp);
    let Some(pp) = held.p().filter(|pp| pp.local().is_empty() && nobody_waits(gp, pp)) else { return false };
    pp.schedtick.store(pp.schedtick.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    true
}

/// Whether no thread waits for `gp`, which runs on `pp`, to leave, or for the scheduler's next
/// round.
fn nobody_waits(gp: &G, pp: &P) -> bool {
    !turns_waiting()
        && !gp.preempt.load(Ordering::Relaxed)
        // In an exploration the flag is always set.
        && !pp.preempt.load(Ordering::Relaxed)
        && !asked_to_stop(pp)
        && !own_timers_due(pp)
        && hooks().find_runnable_gc_worker.is_none()
        && !user_disabled()
        && !listened()
        // An overflow of a stack without a guard is noticed where the goroutine leaves.
        && UNGUARDED.load(Ordering::Relaxed) == 0
}

/// [`gosched`] on g0; with a claim, if `CLAIMED`. Go's `gosched_m`.
///
/// # Safety
/// [`mcall`] calls it.
unsafe extern "C" fn gosched_m<const CLAIMED: bool>(gp: *mut G) -> ! {
    // SAFETY: on g0, with the G that mcall has just left; G's are never freed.
    unsafe { gosched_impl::<CLAIMED>(&*gp, false) }
}

/// [`gosched`], if this goroutine was asked to stop, or no P is idle. Go's `goschedIfBusy`.
///
/// # Safety
/// As [`gosched`].
#[inline(never)]
pub(crate) unsafe fn gosched_if_busy() {
    let (gp, _) = goroutine();
    // A hint. SeqCst: see `Schedt::npidle`.
    if gp.preempt.load(Ordering::Relaxed) || sched().npidle.load(Ordering::SeqCst) == 0 {
        // SAFETY: the caller keeps gosched's conditions, as ours are the same.
        unsafe { gosched() }
    }
}

/// [`gosched`], unless the M can't be preempted now, for example because it holds a lock. Go's
/// `goschedguarded`.
///
/// # Safety
/// As [`gosched`].
#[inline(never)]
pub(crate) unsafe fn goschedguarded() {
    let (gp, mp) = goroutine();
    wire_while_panicking(gp, mp);
    // SAFETY: on a goroutine, as goroutine() has checked; goschedguarded_m queues it, or resumes
    // it.
    unsafe { mcall(goschedguarded_m) }
}

/// [`goschedguarded`] on g0. Go's `goschedguarded_m`.
///
/// # Safety
/// [`mcall`] calls it.
unsafe extern "C" fn goschedguarded_m(gp: *mut G) -> ! {
    // SAFETY: mcall passes the G that called it, and G's are never freed.
    let gp: &'static G = unsafe { &*gp };
    if !can_preempt_m(getm()) {
        // SAFETY: on g0. mcall has just filled `sched`, and the G, still running, is this M's
        // alone.
        unsafe { gogo(&gp.sched, gp.stackguard0.load(Ordering::Relaxed)) }
    }
    // SAFETY: on g0, as the caller says, for the G that mcall has just left.
    unsafe { gosched_impl::<false>(gp, false) }
}

/// The part of [`gosched`] on g0; with a claim, if `CLAIMED`. Go's `goschedImpl`.
///
/// # Safety
/// On g0; `gp` is the M's goroutine, which has just left its stack.
#[inline(always)]
unsafe fn gosched_impl<const CLAIMED: bool>(gp: &'static G, preempted: bool) -> ! {
    let mp = getm();
    casgstatus(gp, GRUNNING, GRUNNABLE);
    trace(|| if preempted { Event::GoPreempt(gp) } else { Event::GoSched(gp) });
    dropg(mp, gp);
    lock_on(Some(mp), &sched().lock);
    globrunqput(gp);
    unlock_on(Some(mp), &sched().lock);
    wakep();
    // SAFETY: on g0, as the caller says; dropg has taken its goroutine.
    unsafe { if CLAIMED { run_claimed(mp) } else { schedule(mp) } }
}

/// [`gosched`], to the end of this P's queue. Go's `goyield`.
///
/// # Safety
/// As [`gosched`].
#[inline(never)]
pub(crate) unsafe fn goyield() {
    let (gp, mp) = goroutine();
    wire_while_panicking(gp, mp);
    // SAFETY: on a goroutine, as goroutine() has checked; goyield_m puts it on the P's queue.
    unsafe { mcall(goyield_m) }
}

/// [`goyield`] on g0. Go's `goyield_m`.
///
/// # Safety
/// [`mcall`] calls it.
unsafe extern "C" fn goyield_m(gp: *mut G) -> ! {
    // SAFETY: mcall passes the G that called it, and G's are never freed.
    let gp: &'static G = unsafe { &*gp };
    let mp = getm();
    let Some(pp) = mp.p() else {
        // SAFETY: the caller keeps goyield's conditions, except that there is no P, and
        // gosched_impl needs none.
        unsafe { gosched_impl::<false>(gp, false) }
    };
    casgstatus(gp, GRUNNING, GRUNNABLE);
    trace(|| Event::GoPreempt(gp));
    dropg(mp, gp);
    runqput(pp.local(), gp, false);
    // SAFETY: on g0 by mcall, with the P that was just found; dropg has taken the goroutine.
    unsafe { schedule(mp) }
}

/// How often a goroutine was preempted to let others run.
pub(in crate::runtime) static PREEMPTIONS: AtomicU64 = AtomicU64::new(0);

/// The function that assembly calls to leave a goroutine that it has saved, as mcall calls its
/// function.
pub(in crate::runtime) type Leave = unsafe extern "C" fn(*mut G) -> !;

/// Prepares this M's goroutine, which `gosched_async_preempt` has saved, to leave; its vector
/// registers are at `regs`. Called on g0. Go's `asyncPreempt2`.
#[unsafe(no_mangle)]
extern "C" fn gosched_async_preempt2(regs: *const u8) -> Option<Leave> {
    let mp = getm();
    let Some(gp) = mp.curg.get() else { throw("asyncPreempt2 on no goroutine") };
    // No thread may shrink its stack now. x_reg_restore clears the flag when the goroutine goes on.
    gp.async_safe_point.set(true);
    let leave = stop_here(mp, gp, regs);
    gp.async_safe_point.set(leave.is_some());
    leave
}

/// Prepares `gp`, which this M runs and which may be preempted, to leave where it is. Its vector
/// registers are at `regs`, and everything else is saved on its stack and in `sched`. Returns none
/// if `gp` must go on, because there is no memory for the registers. Called on g0.
pub(in crate::runtime) fn stop_here(mp: &'static M, gp: &'static G, regs: *const u8) -> Option<Leave> {
    if !x_reg_save(mp.p(), gp, regs) {
        return None;
    }
    wire_while_panicking(gp, mp);
    Some(if gp.preempt_stop.load(Ordering::Relaxed) { preempt_park } else { gopreempt_m })
}

/// Lets other goroutines run in place of a goroutine that was asked to stop. Go's `gopreempt_m`.
///
/// # Safety
/// As [`gosched_impl`].
unsafe extern "C" fn gopreempt_m(gp: *mut G) -> ! {
    PREEMPTIONS.fetch_add(1, Ordering::Relaxed);
    // The time slice ends with this goroutine. The goroutine in runnext gets a slice of its own,
    // unless an M's turn comes first.
    if let Some(pp) = getm().p().filter(|_| !turn_needed()) {
        pp.preempt.store(exploring(), Ordering::Relaxed);
    }
    // SAFETY: ours are gosched_impl's conditions, which the caller keeps; G's are never freed.
    unsafe { gosched_impl::<false>(&*gp, true) }
}

/// Stops a goroutine for the thread that suspends it. Go's `preemptPark`.
///
/// # Safety
/// As [`gosched_impl`].
unsafe extern "C" fn preempt_park(gp: *mut G) -> ! {
    let mp = getm();
    // SAFETY: the goroutine that has just left its stack, as the caller says; G's are never freed.
    let gp: &'static G = unsafe { &*gp };
    if readgstatus(gp) & !GSCAN != GRUNNING {
        dumpgstatus(gp);
        throw("bad g status");
    }
    // Once the G is `GPREEMPTED`, another thread may claim it and make it ready, so it must have
    // left its M by then. But it can't leave its M in the state `GRUNNING`. The scan bit is for the
    // time in between.
    cas_g_to_preempt_scan(gp, GRUNNING, GSCANPREEMPTED);
    dropg(mp, gp);
    // Traced while the bit is set, so that no unpark is traced before it.
    trace(|| Event::GoPark(gp, TraceBlockReason::Preempted));
    // While the bit is set, no thread can ask for a suspension.
    let still_wanted = gp.preempt_stop.load(Ordering::Relaxed);
    casfrom_gscanstatus(gp, GSCANPREEMPTED, GPREEMPTED);
    // The thread that asked may have given up since, and then won't make the G ready. In Go it
    // never gives up.
    if !still_wanted && cas_g_from_preempted(gp, GPREEMPTED, GWAITING) {
        ready(gp, false);
    }
    // SAFETY: on g0, as the caller says; dropg has taken its goroutine.
    unsafe { schedule(mp) }
}

/// How many rounds a waiter spins before it sleeps, and how many pause instructions a round has.
const ACTIVE_SPIN: u32 = 4;
const ACTIVE_SPIN_CNT: u32 = 30;

/// Whether it makes sense to spin: another goroutine is running and may unlock, and this P has no
/// other goroutine to run. Go's `canSpin`.
pub(crate) fn can_spin(iter: u32) -> bool {
    let busy =
        gomaxprocs() - sched().npidle.load(Ordering::Relaxed) - sched().nmspinning.load(Ordering::Relaxed);
    iter < ACTIVE_SPIN && busy > 1 && getm().p.peek().is_some_and(|pp| runqempty(pp.steal()))
}

/// A round of spinning. Go's `doSpin`.
pub(crate) fn do_spin() {
    procyield(ACTIVE_SPIN_CNT);
}
