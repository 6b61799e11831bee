//! An M that can't use its P lets others have it: in a system call, when a goroutine is locked to a
//! thread, or because the world stops. Go's `entersyscall`, `entersyscallblock` and `exitsyscall`;
//! `handoffp`, `stoplockedm`, `startlockedm` and `gcstopm`.
//!
//! In a system call a goroutine blocks its thread, but no other goroutine. [`entersyscall`] leaves
//! the P in state [`PSYSCALL`]: no M has it, but its last M remembers it in `oldp`. If the call is
//! short, [`exitsyscall`] takes the P back with one CAS, and that is all. If the call is long,
//! sysmon takes the P, with a CAS too, and hands it to another M (`retake`). Then the goroutine
//! needs another P, or a place in a queue.
//!
//! Meanwhile the goroutine's state is [`GSYSCALL`]: it runs only code that needs no P. Its stack
//! isn't moved, because the kernel may have addresses in it.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::arch::{entersyscall_here, entersyscallblock_here, mcall, stack_pointer, systemstack};
use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::nanotime;
use crate::runtime::base::print::eprintln;
use crate::runtime::base::this::{getm, hold_p};
use crate::runtime::data::ext::StackKind;
use crate::runtime::data::runtime2::{
    G, GRUNNABLE, GRUNNING, GSCAN, GSYSCALL, M, Note, P, PGCSTOP, PIDLE, PSYSCALL, sched,
};
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::g::status::{casgstatus, dumpgstatus, readgstatus};
use crate::runtime::lock::note::{notetsleep_internal, notewakeup};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::checkdead::incidlelocked;
use crate::runtime::m::lockosthread::wire_while_panicking;
use crate::runtime::m::spinning::Spinning;
use crate::runtime::m::startm::{m_park, startm, stopm, take_nextp};
use crate::runtime::m::turn::{give_turn, need_before_queues, serve_turns, take_turn, turns_waiting};
use crate::runtime::p::owner::{acquirep, pidleget, pidleput, releasep, wirep};
use crate::runtime::p::procs::gomaxprocs;
use crate::runtime::p::runq::{globrunqput, runqempty};
use crate::runtime::p::stop::{
    FREEZE_STOP_WAIT, run_safe_point_fn, run_safe_point_fn_locked, stopped_for_another, take_from_syscall,
    tell_taken, tick,
};
use crate::runtime::p::sysmon_sleep::wake_sysmon;
use crate::runtime::p::timer_heap::nobarrier_wake_time;
use crate::runtime::preempt::ask::fail_stack_checks;
use crate::runtime::sched::detach::{attached, leave_m};
use crate::runtime::sched::park::gosched;
use crate::runtime::sched::poll::wake_net_poller;
use crate::runtime::sched::schedule::{dropg, execute, sched_enabled, schedule, user_disabled};
use crate::runtime::sched::wake::pay_wakes;

/// Notes where the goroutine leaves. A traceback or a scan of its stack begins there. Go's `save`.
#[inline(always)]
fn save(gp: &G, pc: usize, sp: usize, bp: usize) {
    gp.sched.pc.set(pc);
    gp.sched.sp.set(sp);
    gp.sched.bp.set(bp);
}

/// [`proc::entersyscall`](crate::proc::entersyscall) without the check of the stack. Go's
/// `entersyscall`.
///
/// # Safety
/// As the raw one, with a P and no runtime lock; the goroutine may end (`dropm`) instead of
/// [`exitsyscall`].
#[inline(always)]
pub(crate) unsafe fn entersyscall() {
    // SAFETY: the conditions are ours, and the caller keeps them. Inlined, so the frame is the
    // caller's.
    unsafe { entersyscall_here() }
}

/// The Rust part of [`entersyscall`]. Its assembly calls this with its caller's pc, sp and frame
/// pointer; the callee-saved registers are in `m.ext.syscall_regs`. Go's `reentersyscall`.
#[unsafe(no_mangle)]
extern "C" fn gosched_reentersyscall(pc: usize, sp: usize, bp: usize) {
    let mp = getm();
    let held = hold_p(mp);
    let Some(gp) = mp.curg.get() else { throw("entersyscall: no g") };
    // From here on other threads read gp.sched, which systemstack would change.
    let save = || save(gp, pc, sp, bp);
    trace(|| Event::GoSysCall(gp));
    begin_syscall(gp, pc, sp);
    save();
    casgstatus(gp, GRUNNING, GSYSCALL);
    let Some(pp) = held.p() else {
        without_p(mp);
        save();
        return;
    };
    // A hint: entersyscall_sysmon looks again with the lock held. SeqCst: see `Schedt::sysmonwait`.
    if sched().sysmonwait.load(Ordering::SeqCst) {
        systemstack(entersyscall_sysmon);
        save();
    }
    // SeqCst: see `P::run_safe_point_fn`.
    if pp.run_safe_point_fn.load(Ordering::SeqCst) != 0 {
        systemstack(|| run_safe_point_fn(pp));
        save();
    }
    mp.syscalltick.set(pp.syscalltick.load(Ordering::Relaxed));
    pp.m.set(None);
    mp.oldp.set(Some(pp));
    mp.p.set(None);
    // Stored before the look at gcwaiting, both SeqCst. Either this thread sees that the world is
    // to stop, or the stopper (`take_all_from_syscalls`) sees this store.
    pp.status.store(PSYSCALL, Ordering::SeqCst);
    if sched().gcwaiting.load(Ordering::SeqCst) {
        systemstack(|| entersyscall_gcwait(pp));
        save();
    }
}

/// Enters a system call for a goroutine that has lost its P before. The thread that has the P, or
/// may take it, sees no difference.
#[cold]
#[inline(never)]
fn without_p(mp: &'static M) {
    if mp.ext.detached_since.load(Ordering::Relaxed) == 0 {
        throw("entersyscall: no p");
    }
    // A thread that takes the P from here on takes it from a system call, unless another goroutine
    // has lost it since.
    if let Some(oldp) = mp.oldp.get() {
        oldp.ext.detached_from.cas(Some(mp), None);
    }
    systemstack(|| attached(mp));
}

/// Does the first steps of both ways in. The stack isn't copied until the call is over.
#[inline(always)]
fn begin_syscall(gp: &G, pc: usize, sp: usize) {
    gp.throwsplit.set(gp.ext.kind.get() == StackKind::Copying);
    gp.syscallsp.set(sp);
    gp.syscallpc.set(pc);
    let stack = gp.stack.get();
    if sp < stack.lo || stack.hi < sp {
        elsewhere(gp, sp);
    }
}

/// Checks a call from a stack that isn't the goroutine's. A goroutine with thread-locals of its own
/// may be on a stack that the program has made, as a thread may; any other throws.
#[cold]
#[inline(never)]
fn elsewhere(gp: &G, sp: usize) {
    if !gp.ext.kind.get().has_own_locals() {
        let stack = gp.stack.get();
        eprintln!("entersyscall inconsistent {sp:#x} [{:#x}, {:#x}]", stack.lo, stack.hi);
        throw("entersyscall");
    }
}

/// Wakes sysmon, to watch this call. Go's `entersyscall_sysmon`.
#[cold]
fn entersyscall_sysmon() {
    lock(&sched().lock);
    wake_sysmon();
    unlock(&sched().lock);
}

/// Counts the P as stopped, unless the stopper has done so. Called while the world is being
/// stopped. Go's `entersyscall_gcwait`.
#[cold]
fn entersyscall_gcwait(pp: &P) {
    lock(&sched().lock);
    if sched().stopwait.load(Ordering::Relaxed) > 0
        && take_from_syscall(pp, PGCSTOP)
        && sched().stopwait.fetch_sub(1, Ordering::Relaxed) == 1
    {
        notewakeup(&sched().stopnote);
    }
    unlock(&sched().lock);
}

/// [`entersyscall`] for a call that is known to block: the P is handed on at once. Go's
/// `entersyscallblock`.
///
/// # Safety
/// As [`entersyscall`].
#[inline(always)]
pub(crate) unsafe fn entersyscallblock() {
    // SAFETY: as in entersyscall.
    unsafe { entersyscallblock_here() }
}

/// The Rust part of [`entersyscallblock`], which its assembly calls.
#[unsafe(no_mangle)]
extern "C" fn gosched_entersyscallblock_from(pc: usize, sp: usize, bp: usize) {
    let mp = getm();
    let held = hold_p(mp);
    let Some(gp) = mp.curg.get() else { throw("entersyscallblock: no g") };
    // Only this goroutine can start the world, so no M could use its P meanwhile. SeqCst: see
    // `Schedt::gcwaiting`.
    if sched().gcwaiting.load(Ordering::SeqCst) && !mp.preemptoff.get().is_null() {
        throw("entersyscallblock: a goroutine blocks while the world is stopped, by itself");
    }
    trace(|| Event::GoSysCall(gp));
    begin_syscall(gp, pc, sp);
    save(gp, pc, sp, bp);
    casgstatus(gp, GRUNNING, GSYSCALL);
    match held.p() {
        Some(pp) => {
            mp.syscalltick.set(pp.syscalltick.load(Ordering::Relaxed));
            tick(pp);
            systemstack(|| entersyscallblock_handoff(mp));
        }
        None => without_p(mp),
    }
    save(gp, pc, sp, bp);
}

/// Hands the P of `mp` on. Go's `entersyscallblock_handoff`.
fn entersyscallblock_handoff(mp: &'static M) {
    handoffp(releasep(mp));
}

/// [`proc::exitsyscall`](crate::proc::exitsyscall). Go's `exitsyscall`.
///
/// # Safety
/// As the raw one; called in the function that called [`entersyscall`], or in one that it calls.
#[inline(never)]
pub(crate) unsafe fn exitsyscall() {
    let mp = getm();
    let Some(gp) = mp.curg.get() else { throw("exitsyscall: no g") };
    if stack_pointer() > gp.syscallsp.get() {
        throw("exitsyscall: syscall frame is no longer valid");
    }
    let held = hold_p(mp);
    gp.waitsince.set(0);
    let oldp = mp.oldp.get();
    mp.oldp.set(None);
    let fast = exitsyscallfast(mp, oldp);
    if fast {
        held.p().inspect(|pp| tick(pp));
        casgstatus(gp, GSYSCALL, GRUNNING);
        left_syscall(gp, mp, oldp);
        drop(held);
    } else {
        drop(held);
        wire_while_panicking(gp, mp);
        // SAFETY: on a goroutine, as it is `curg`; exitsyscall0 puts it on a queue or runs it.
        unsafe { mcall(exitsyscall0) };
        // This may be another M, on another thread.
        hold_p(getm()).p().inspect(|pp| tick(pp));
    }
    gp.syscallsp.set(0);
    gp.throwsplit.set(false);
    if fast {
        if gp.preempt.load(Ordering::Relaxed) {
            // newstack may have put the poisoned guard right meanwhile, during the call.
            fail_stack_checks(mp, gp);
        }
        if user_disabled() {
            // SAFETY: on a goroutine that has a P again; the caller keeps no thread-local's address
            // across this.
            unsafe { gosched() }
        }
    }
}

/// Tells the tracer that the goroutine runs on, with its old P or with another.
#[inline(always)]
fn left_syscall(gp: &G, mp: &M, oldp: Option<&P>) {
    let lost_p = oldp.map(ptr::from_ref) != mp.p().map(ptr::from_ref);
    trace(|| Event::GoSysExit(gp, lost_p));
    if lost_p {
        trace(|| Event::GoStart(gp));
    }
}

/// [`proc::notetsleepg`](crate::proc::notetsleepg) without the check of the stack. Go's
/// `notetsleepg`.
///
/// # Safety
/// As the raw one, with a P and no runtime lock.
#[inline(never)]
pub(crate) unsafe fn notetsleepg(n: &Note, ns: i64) -> bool {
    // SAFETY: on a goroutine with a P and no lock, as the caller says; the sleep needs no P, and
    // exitsyscall follows.
    unsafe { entersyscallblock() };
    let woken = notetsleep_internal(n, ns, None);
    // SAFETY: after entersyscallblock, in the same function; the caller keeps no thread-local's
    // address.
    unsafe { exitsyscall() };
    woken
}

/// Gets a P without a switch if it can: the old one, or an idle one. Go's `exitsyscallfast`.
#[inline(always)]
pub(super) fn exitsyscallfast(mp: &'static M, oldp: Option<&'static P>) -> bool {
    if sched().stopwait.load(Ordering::Relaxed) == FREEZE_STOP_WAIT {
        return false;
    }
    // The CAS takes the P unless another thread has. SeqCst: see `P::status`.
    if let Some(pp) = oldp
        && pp.status.load(Ordering::Relaxed) == PSYSCALL
        && pp.status.compare_exchange(PSYSCALL, PIDLE, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    {
        wirep(mp, pp);
        exitsyscallfast_reacquired(mp, pp);
        return true;
    }
    !sched().pidle.is_null() && systemstack(|| exitsyscallfast_pidle(mp))
}

/// Counts the call if the P was away meanwhile. Called when `mp` has got its old P back. Go's
/// `exitsyscallfast_reacquired`.
#[inline(always)]
fn exitsyscallfast_reacquired(mp: &M, pp: &P) {
    if mp.syscalltick.get() != pp.syscalltick.load(Ordering::Relaxed) {
        // The P was taken meanwhile. Then another M has left it in a system call, or has lost it.
        tell_taken(pp);
        trace(|| Event::ProcStart(pp));
        tick(pp);
    }
}

/// Gets an idle P if there is one. Go's `exitsyscallfast_pidle`.
fn exitsyscallfast_pidle(mp: &'static M) -> bool {
    lock(&sched().lock);
    let pp = pidleget();
    unlock(&sched().lock);
    if let Some(pp) = pp {
        acquirep(mp, pp);
    }
    pp.is_some()
}

/// The rest of [`exitsyscall`], on g0, if there was no P. Go's `exitsyscall0`.
///
/// # Safety
/// [`mcall`] calls it, on an M without a P.
unsafe extern "C" fn exitsyscall0(gp: *mut G) -> ! {
    // SAFETY: mcall passes the G that called it, and G's are never freed.
    let gp: &'static G = unsafe { &*gp };
    let mp = getm();
    casgstatus(gp, GSYSCALL, GRUNNABLE);
    trace(|| Event::GoSysExit(gp, true));
    dropg(mp, gp);
    lock(&sched().lock);
    let pp = if sched_enabled(gp) { pidleget() } else { None };
    if pp.is_none() {
        globrunqput(gp);
    }
    // Once the lock is released, a queued G may run elsewhere, unless it is locked to this M.
    let locked = !gp.lockedm.is_null();
    unlock(&sched().lock);
    if let Some(pp) = pp {
        acquirep(mp, pp);
        // SAFETY: on g0 by mcall, with the P that was just acquired. The G is runnable, and on no
        // queue, as there was a P. If it is locked, it is locked to this M, where it ran.
        unsafe { execute(mp, gp, false) }
    }
    if locked {
        stoplockedm(mp);
        // SAFETY: on g0 by mcall. stoplockedm has returned with a P. The M that handed the P over
        // had taken the G off its queue. The G is runnable, and locked to this M.
        unsafe { execute(mp, gp, false) }
    }
    stopm(mp);
    // SAFETY: on g0 by mcall; stopm has returned with a P, and dropg has taken the goroutine.
    unsafe { schedule(mp) }
}

/// Gives `pp` to another M if there is work, else makes it idle. Called without a P. Go's
/// `handoffp`.
pub(in crate::runtime) fn handoffp(pp: &'static P) {
    if need_before_queues() && hand_to_turn(pp) {
        return;
    }
    // If findRunnable would find a goroutine, an M must be started.
    if !runqempty(pp.steal()) || sched().runqsize.load(Ordering::Relaxed) != 0 {
        return startm(Some(pp), None);
    }
    if turns_waiting() {
        if timers_are_due(pp) {
            return startm(Some(pp), None);
        }
        if hand_to_turn(pp) {
            return;
        }
    }
    // No M is looking for work, and no P is idle that a submitter could wake. So an M with this P
    // has to look. SeqCst: see `Schedt::nmspinning` and `Schedt::npidle`.
    if sched().nmspinning.load(Ordering::SeqCst) + sched().npidle.load(Ordering::SeqCst) == 0
        && let Some(spinning) = Spinning::first()
    {
        // The M that is started looks at the queues. SeqCst: see `Schedt::needspinning`.
        sched().needspinning.store(0, Ordering::SeqCst);
        return startm(Some(pp), Some(spinning));
    }
    lock(&sched().lock);
    // SeqCst: see `Schedt::gcwaiting`.
    if sched().gcwaiting.load(Ordering::SeqCst) {
        stopped_for_another(pp);
        unlock(&sched().lock);
        return;
    }
    run_safe_point_fn_locked(pp);
    if sched().runqsize.load(Ordering::Relaxed) != 0 {
        unlock(&sched().lock);
        return startm(Some(pp), None);
    }
    // The last running P must not become idle while no M waits for the network. SeqCst: see
    // `Schedt::npidle` and `Schedt::lastpoll`.
    if sched().npidle.load(Ordering::SeqCst) == gomaxprocs() - 1
        && sched().lastpoll.load(Ordering::SeqCst) != 0
    {
        unlock(&sched().lock);
        return startm(Some(pp), None);
    }
    // Read for wake_net_poller, which can't be called with the lock held, because it may have to
    // wake a P.
    let when = nobarrier_wake_time(pp);
    pidleput(pp);
    serve_turns();
    unlock(&sched().lock);
    if when != 0 {
        wake_net_poller(when);
    }
}

/// Whether timers of `pp` are due, so that an M has to run them before a goroutine that keeps its
/// thread gets the P.
fn timers_are_due(pp: &P) -> bool {
    let when = nobarrier_wake_time(pp);
    when != 0 && when <= nanotime()
}

/// Gives `pp` to the M whose turn it is, if there is one.
fn hand_to_turn(pp: &'static P) -> bool {
    lock(&sched().lock);
    // SeqCst: see `Schedt::gcwaiting`.
    let stops = sched().gcwaiting.load(Ordering::SeqCst);
    let turn = if stops { None } else { take_turn() };
    if let Some(mp) = turn {
        run_safe_point_fn_locked(pp);
        give_turn(mp, pp);
    }
    unlock(&sched().lock);
    turn.is_some()
}

/// Gives this M's P to the M whose turn it is, and stops this M; false if there is none. Returns
/// with a P.
#[cold]
#[inline(never)]
pub(super) fn let_turn(mp: &'static M, pp: &'static P) -> bool {
    // Paid first: this may make a thread, which takes malloc's lock. An M that holds that lock can
    // be let go on only while it is on the list of turns.
    pay_wakes(mp);
    lock(&sched().lock);
    let turn = take_turn();
    unlock(&sched().lock);
    let Some(turn) = turn else { return false };
    if !std::ptr::eq(releasep(mp), pp) {
        throw("let_turn: wrong p");
    }
    give_turn(turn, pp);
    stopm(mp);
    true
}

/// Stops this M, to which a goroutine is locked, until that goroutine can run; returns
/// with a P. Go's `stoplockedm`.
pub(super) fn stoplockedm(mp: &'static M) {
    let Some(lockedg) = mp.lockedg.get() else { throw("stoplockedm: inconsistent locking") };
    if !lockedg.lockedm.get().is_some_and(|lockedm| std::ptr::eq(lockedm, mp)) {
        throw("stoplockedm: inconsistent locking");
    }
    if mp.ext.detached_since.load(Ordering::Relaxed) != 0 {
        // Perhaps no other M has taken its old P yet.
        leave_m(mp);
    }
    if !mp.p.is_null() {
        // Its P goes to one M, but there may be work for several.
        pay_wakes(mp);
        handoffp(releasep(mp));
    }
    incidlelocked(1);
    m_park(mp);
    if readgstatus(lockedg) & !GSCAN != GRUNNABLE {
        dumpgstatus(lockedg);
        throw("stoplockedm: not runnable");
    }
    take_nextp(mp);
}

/// Wakes the M that `gp` is locked to, gives it this M's P, and stops this M. Go's
/// `startlockedm`.
pub(super) fn startlockedm(mp: &'static M, gp: &G) {
    let Some(lockedm) = gp.lockedm.get() else { throw("startlockedm: not locked") };
    if std::ptr::eq(lockedm, mp) {
        throw("startlockedm: locked to me");
    }
    if !lockedm.nextp.is_null() {
        throw("startlockedm: m has p");
    }
    incidlelocked(-1);
    lockedm.nextp.set(Some(releasep(mp)));
    notewakeup(&lockedm.park);
    stopm(mp);
}

/// Stops this M because the world is to be stopped; returns with a P when it runs again. Go's
/// `gcstopm`.
pub(super) fn gcstopm(mp: &'static M) {
    // SeqCst: see `Schedt::gcwaiting`.
    if !sched().gcwaiting.load(Ordering::SeqCst) {
        throw("gcstopm: not waiting for gc");
    }
    if !mp.preemptoff.get().is_null() {
        throw("gcstopm: a goroutine parks while the world is stopped, by itself");
    }
    if mp.spinning.get() {
        mp.stop_spinning();
    }
    let pp = releasep(mp);
    lock(&sched().lock);
    stopped_for_another(pp);
    unlock(&sched().lock);
    stopm(mp);
}
