//! Finding deadlocks, in which no goroutine can ever run again: Go's `checkdead`.

use std::sync::atomic::Ordering;

use crate::runtime::base::fatal::{fatal, panicking, throw};
use crate::runtime::base::os::thread_count;
use crate::runtime::base::print::eprintln;
use crate::runtime::data::runtime2::{GPREEMPTED, GRUNNABLE, GRUNNING, GSCAN, GSYSCALL, GWAITING, sched};
use crate::runtime::g::allgs::for_each_g;
use crate::runtime::g::status::readgstatus;
use crate::runtime::lock::{assert_lock_held, lock, unlock};
use crate::runtime::m::count::{extram_length, mcount};
use crate::runtime::m::no_thread::thread_wanted;
use crate::runtime::p::gcount::gcount;
use crate::runtime::p::procs::procs;

/// What Go calls it.
pub(in crate::runtime) const DEADLOCK: &str = "all goroutines are asleep - deadlock!";

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

/// Ends the process if no M runs, goroutines wait, there is no timer, and no thread that isn't ours
/// could wake one of them. `sched.lock` is held. Go's `checkdead`.
pub(in crate::runtime) fn checkdead() {
    assert_lock_held(&sched().lock);
    if panicking() {
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
    // Work that waits for a thread is no deadlock: sysmon sees to it.
    if thread_wanted() || foreign_thread_may_wake() {
        return;
    }
    if all_wait() {
        fatal(DEADLOCK);
    }
}

/// Whether there are goroutines, and each waits for another one; no M runs, and `sched.lock` is held.
fn all_wait() -> bool {
    let mut grunning = 0;
    for_each_g(|gp| {
        let status = readgstatus(gp);
        match status & !GSCAN {
            GWAITING | GPREEMPTED => grunning += 1,
            GRUNNABLE | GRUNNING | GSYSCALL => {
                eprintln!("runtime: checkdead: find g {} in status {status}", gp.goid.get());
                throw("checkdead: runnable g");
            }
            _ => {}
        }
    });
    // No M runs, so no timer comes or goes.
    let timers = procs().allp.iter().any(|pp| pp.num_timers.load(Ordering::SeqCst) != 0);
    // No goroutine at all: between two calls of run.
    grunning != 0 && !timers
}

/// How many M's run, or are in a system call. `sched.lock` is held.
pub(super) fn running() -> i32 {
    mcount() - sched().nmidle.get() - sched().nmidlelocked.get() - sched().nmsys.get()
}

/// Whether goroutines wait and only a thread that isn't ours could wake one: when the last such thread
/// ends, that is a deadlock, and nothing tells the runtime of it. `sched.lock` is held.
pub(in crate::runtime) fn foreign_threads_matter() -> bool {
    running() == 0 && gcount() > 0
}

/// Whether each goroutine waits for another one, among them that of a [`run`](crate::run): unless a thread that
/// isn't ours wakes one, none will ever run. (Between two calls of `run` goroutines wait for the next one.)
/// `sched.lock` is held.
pub(in crate::runtime) fn only_foreign_threads_can_wake() -> bool {
    assert_lock_held(&sched().lock);
    running() == 0 && !panicking() && sched().ext.nrunwait.load(Ordering::SeqCst) > 0 && all_wait()
}

/// Whether this process has a thread that is neither an M nor waiting in
/// [`run`](crate::run) for its main goroutine. Yes where that can't be told.
fn foreign_thread_may_wake() -> bool {
    let known = mcount() - extram_length() + sched().ext.nrunwait.load(Ordering::SeqCst);
    // Not `>`: a /proc that shows fewer threads than we know of doesn't count them.
    thread_count() != Some(known)
}
