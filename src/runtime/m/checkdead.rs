//! Finding deadlocks, in which no goroutine can ever run again: Go's `checkdead`.

use std::sync::atomic::Ordering;

use crate::runtime::base::debug::deadlock_off;
use crate::runtime::base::fatal::{fatal, panicking, throw};
use crate::runtime::base::os::thread_count;
use crate::runtime::base::print::eprintln;
use crate::runtime::data::runtime2::{
    GPREEMPTED, GRUNNABLE, GRUNNING, GSCAN, GSYSCALL, GWAITING, WaitReason, sched,
};
use crate::runtime::g::allgs::for_each_g;
use crate::runtime::g::explored::is_lost;
use crate::runtime::g::status::readgstatus;
use crate::runtime::lock::{assert_lock_held, lock, unlock};
use crate::runtime::m::thread::{extram_length, mcount, thread_wanted};
use crate::runtime::p::free_lists::gcount;
use crate::runtime::p::procs::procs;

/// Go's message if all goroutines wait for each other.
const ASLEEP: &str = "all goroutines are asleep - deadlock!";

/// Go's message if a main function hasn't returned, and no goroutine is left.
const NO_GOROUTINES: &str = "no goroutines (main called runtime.Goexit) - deadlock!";

/// Adds `v` to the number of M's that wait for the goroutine locked to them. Go's
/// `incidlelocked`.
pub(in crate::runtime) fn incidlelocked(v: i32) {
    lock(&sched().lock);
    sched().nmidlelocked.set(sched().nmidlelocked.get() + v);
    if v > 0 {
        checkdead();
    }
    unlock(&sched().lock);
}

/// Calls `f` on a thread that isn't counted as a running M. Meanwhile counts the thread as running,
/// by counting one idle locked M less: `f` may hold a P or goroutines that others look for, and
/// that is no deadlock.
pub(in crate::runtime) fn counted<R>(f: impl FnOnce() -> R) -> R {
    incidlelocked(-1);
    let result = f();
    incidlelocked(1);
    result
}

/// Ends the process if no M runs, goroutines wait, there is no timer, and no thread that isn't ours
/// could wake one of them, unless the program doesn't want that. `sched.lock` is held. Go's
/// `checkdead`.
pub(in crate::runtime) fn checkdead() {
    assert_lock_held(&sched().lock);
    if panicking() || deadlock_off() {
        return;
    }
    let run = running();
    if run > 0 {
        return;
    }
    if run < 0 {
        eprintln!(
            "runtime: checkdead: nmidle={} nmidlelocked={} mcount={} nmsys={}",
            sched().nmidle.get(),
            sched().nmidlelocked.get(),
            mcount(),
            sched().nmsys.get()
        );
        throw("checkdead: inconsistent counts");
    }
    // Asking the system each time that the last M goes to sleep would take about as long as the
    // sleep. So the last answer holds until sysmon looks, within a second. But a sleeping sysmon
    // may have seen an M run, and may sleep for longer. SeqCst: see `Schedt::sysmonwait`.
    let seen = sched().ext.foreign.get() && !sched().sysmonwait.load(Ordering::SeqCst);
    // Work that waits for a thread is no deadlock, nor is a wake that was left to sysmon. Sysmon
    // takes care of both. SeqCst: see `Schedt::sysmonwait`.
    let left = thread_wanted() || sched().ext.wakes_left.load(Ordering::SeqCst);
    // A signal handler of the program's may run at any time.
    if left || seen || sched().ext.handlers.load(Ordering::Relaxed) || foreign_thread_may_wake() {
        return;
    }
    match deadlock() {
        Alive::No(why) => fatal(why),
        Alive::Runnable { goid, status } => {
            eprintln!("runtime: checkdead: find g {goid} in status {status}");
            throw("checkdead: runnable g");
        }
        Alive::Maybe => {}
    }
}

/// Whether a goroutine will ever run, though no M does.
enum Alive {
    /// None will, unless a thread that isn't ours wakes or makes one. This is the message to
    /// report.
    No(&'static str),
    /// This goroutine could run, but has no M.
    Runnable { goid: u64, status: u32 },
    /// A timer may make a goroutine ready, or no goroutine waits.
    Maybe,
}

/// Looks at all goroutines. No M runs, and `sched.lock` is held.
fn deadlock() -> Alive {
    let mut grunning = 0;
    let mut runnable = None;
    for_each_g(|gp| {
        let status = readgstatus(gp);
        match status & !GSCAN {
            _ if is_lost(gp) => {}
            GWAITING | GPREEMPTED => grunning += 1,
            GRUNNABLE | GRUNNING | GSYSCALL => runnable = Some((gp.goid.get(), status)),
            _ => {}
        }
    });
    if let Some((goid, status)) = runnable {
        return Alive::Runnable { goid, status };
    }
    // No M runs, so no timer comes or goes. SeqCst: see `P::num_timers`.
    let timers = procs().allp.iter().any(|pp| pp.num_timers.load(Ordering::SeqCst) != 0);
    match grunning {
        _ if timers => Alive::Maybe,
        // Between two calls of `run` there may be no goroutine. SeqCst: see `SchedtExt::nrunwait`.
        0 if sched().ext.nrunwait.load(Ordering::SeqCst) == 0 => Alive::Maybe,
        0 => Alive::No(NO_GOROUTINES),
        _ => Alive::No(ASLEEP),
    }
}

/// Returns how many M's run, or are in a system call. `sched.lock` is held.
pub(super) fn running() -> i32 {
    mcount() - sched().nmidle.get() - sched().nmidlelocked.get() - sched().nmsys.get()
}

/// Whether goroutines, or the caller of a main function, wait and only a thread that isn't ours
/// could wake one. If the last such thread ends, that is a deadlock, and the runtime gets no notice
/// of it. `sched.lock` is held.
pub(in crate::runtime) fn foreign_threads_matter() -> bool {
    // SeqCst: see `SchedtExt::nrunwait`.
    running() == 0 && (gcount() > 0 || sched().ext.nrunwait.load(Ordering::SeqCst) > 0)
}

/// Returns the message of a deadlock that only a thread that isn't ours could end, if there is one
/// while a [`run`](crate::run) waits for its main goroutine. (Between two calls of `run`,
/// goroutines wait for the next call. And a future, as a rule, waits for a thread that isn't ours.)
/// `sched.lock` is held.
pub(in crate::runtime) fn deadlock_beside_foreign_threads() -> Option<&'static str> {
    assert_lock_held(&sched().lock);
    // SeqCst: see `SchedtExt::nrunwait`.
    let run_waits = sched().ext.nrunwait.load(Ordering::SeqCst) > 0;
    if running() != 0 || !run_waits || panicking() || future_waits() {
        return None;
    }
    match deadlock() {
        Alive::No(why) => Some(why),
        // A thread that isn't ours has just made the goroutine ready, and is about to wake an M for
        // it.
        Alive::Runnable { .. } | Alive::Maybe => None,
    }
}

/// Whether a goroutine waits for a future. No M runs, and `sched.lock` is held.
fn future_waits() -> bool {
    let mut waits = false;
    for_each_g(|gp| {
        waits |= readgstatus(gp) & !GSCAN == GWAITING && gp.waitreason.get() == WaitReason::Future;
    });
    waits
}

/// [`checkdead`], after asking the system about foreign threads anew. `sched.lock` is held.
pub(in crate::runtime) fn checkdead_again() {
    sched().ext.foreign.set(false);
    checkdead();
}

/// Whether this process has a thread that is neither an M's nor waits in [`run`](crate::run) for
/// its main goroutine; true if the system doesn't say. Notes the answer for the next time.
fn foreign_thread_may_wake() -> bool {
    // SeqCst: see `SchedtExt::nrunwait`.
    let known = mcount() - extram_length() + sched().ext.nrunwait.load(Ordering::SeqCst);
    // Not `>`: if /proc shows fewer threads than we know of, its count can't be trusted.
    let foreign = thread_count() != Some(known);
    sched().ext.foreign.set(foreign);
    foreign
}
