//! Keeping user goroutines from running while a collector's may run: Go's `schedEnableUser`.

use std::sync::atomic::Ordering;

use crate::runtime::base::this::goroutine;
use crate::runtime::data::runtime2::{G, sched};
use crate::runtime::lock::{assert_lock_held, lock, unlock};
use crate::runtime::m::startm::startm;
use crate::runtime::p::runq::globrunqputbatch;

/// Whether user goroutines may not run now; read without the lock.
#[inline(always)]
pub(super) fn user_disabled() -> bool {
    sched().disable.user.load(Ordering::Relaxed)
}

/// [`proc::sched_enable_user`](crate::proc::sched_enable_user), on g0. Go's `schedEnableUser`.
pub(crate) fn sched_enable_user(enable: bool) {
    lock(&sched().lock);
    let disable = &sched().disable;
    let n = if disable.user.load(Ordering::Relaxed) == enable {
        disable.user.store(!enable, Ordering::Relaxed);
        if enable { disable.n.take() } else { 0 }
    } else {
        0
    };
    if n > 0 {
        globrunqputbatch(&disable.runnable, n);
    }
    unlock(&sched().lock);
    for _ in 0..n {
        if sched().npidle.load(Ordering::SeqCst) == 0 {
            break;
        }
        startm(None, None);
    }
}

/// [`proc::become_system_goroutine`](crate::proc::become_system_goroutine).
pub(crate) fn become_system_goroutine() {
    let (gp, _) = goroutine();
    if !gp.ext.system.replace(true) {
        sched().ngsys.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether `gp` may run. `sched.lock` is held. Go's `schedEnabled`.
pub(super) fn sched_enabled(gp: &G) -> bool {
    assert_lock_held(&sched().lock);
    !user_disabled() || gp.ext.system.get()
}

/// Keeps `gp`, which was taken from a queue, until user goroutines may run; false if it may run.
/// For `schedule`.
#[cold]
pub(super) fn hold_back(gp: &'static G) -> bool {
    lock(&sched().lock);
    let held = !sched_enabled(gp);
    if held {
        sched().disable.runnable.push_back(gp);
        sched().disable.n.set(sched().disable.n.get() + 1);
    }
    unlock(&sched().lock);
    held
}
