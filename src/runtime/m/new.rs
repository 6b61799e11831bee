//! An M with a thread for it, made by this one or by the template thread: Go's `newm` and
//! `startTemplateThread`; and M's that run no goroutines.

use std::io;
use std::sync::atomic::Ordering;

use crate::runtime::arch::sanitizer::unseen;
use crate::runtime::base::this::{acquirem, releasem};
use crate::runtime::data::runtime2::{P, sched};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::checkdead::checkdead;
use crate::runtime::m::count::{m_reserve_id, m_unreserve_id};
use crate::runtime::m::sigstack::init_sigmask;
use crate::runtime::m::template::{NEWM_HANDOFF, NewmHandoff, newm_by_template, template_thread};
use crate::runtime::m::thread::{allocm, newm1};

/// Makes an M that will run `f` and then the scheduler, with `pp`; without a P if `f` never
/// returns, or waits for one. If it can't, the number `id` doesn't count any more. Go's `newm`.
pub(in crate::runtime) fn newm(f: Option<fn()>, pp: Option<&'static P>, id: i64) -> io::Result<()> {
    let locked = acquirem();
    let made = unseen(|| allocm(f, id)).inspect_err(|_| m_unreserve_id()).and_then(|mp| {
        mp.nextp.set(pp);
        mp.ext.system.set(pp.is_none());
        mp.sigmask.set(init_sigmask());
        // A goroutine may have changed this thread, or it isn't ours: a new one would inherit its
        // state.
        let strange = locked.is_none_or(|mine| mine.locked_ext.get() != 0 || mine.isextra.get());
        let made = if strange { newm_by_template(mp) } else { None };
        made.unwrap_or_else(|| newm1(mp))
    });
    releasem(locked);
    made
}

/// Makes an M that runs `f`, which never returns, and no goroutines: it has no P, and once this
/// returns it doesn't count for deadlock. (In Go such an M counts itself out, when it runs.)
pub(in crate::runtime) fn new_system_m(f: fn()) -> io::Result<()> {
    lock(&sched().lock);
    let id = m_reserve_id();
    unlock(&sched().lock);
    newm(Some(f), None, id)?;
    // Only when there is a thread: checkdead compares the number of M's with that of threads.
    lock(&sched().lock);
    sched().nmsys.set(sched().nmsys.get() + 1);
    checkdead();
    unlock(&sched().lock);
    Ok(())
}

/// Starts the template thread, unless there is one. The calling thread is in a good state. If no
/// thread can be made, threads go on to be made by the threads that need them. Go's
/// `startTemplateThread`.
pub(in crate::runtime) fn start_template_thread() {
    let NewmHandoff { started, have_template_thread, .. } = &NEWM_HANDOFF;
    if started.load(Ordering::Relaxed) {
        return;
    }
    let mp = acquirem();
    if !started.swap(true, Ordering::Relaxed) {
        let made = new_system_m(template_thread).is_ok();
        have_template_thread.store(made, Ordering::Relaxed);
        started.store(made, Ordering::Relaxed);
    }
    releasem(mp);
}
