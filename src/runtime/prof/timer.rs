//! The timers that signal threads after so much time on a processor: Go's `setThreadCPUProfiler`.
//!
//! Go has each M look at the rate whenever it runs a goroutine. Here who sets the rate makes the timers of all
//! threads that there are, and one that begins later makes its own.

use std::sync::atomic::{Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::runtime::base::os::{delete_thread_timer, make_thread_timer};
use crate::runtime::base::rand::cheaprandn;
use crate::runtime::data::runtime2::{M, sched};

/// Held while timers are made and deleted.
static TIMERS: Mutex<()> = Mutex::new(());

/// What the signals of these timers have with them, and of no others: its address.
static OURS: u8 = 0;

/// The value that tells a signal of these timers from others.
pub(in crate::runtime) fn mark() -> usize {
    (&raw const OURS).addr()
}

fn lock_timers() -> MutexGuard<'static, ()> {
    TIMERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread of `mp`, this one, has begun, and others know its id. Part of Go's `execute`.
#[inline(always)]
pub(in crate::runtime) fn thread_begins(mp: &M) {
    if cfg!(feature = "pprof") && is_profiled() {
        // What can't be had can't be told to anybody here: the profile lacks this thread.
        let _made = make(mp, &lock_timers());
    }
}

/// The thread of `mp`, this one, ends, and isn't the M's any more for others.
#[inline(always)]
pub(in crate::runtime) fn thread_ends(mp: &M) {
    if cfg!(feature = "pprof") && is_profiled() {
        delete(mp, &lock_timers());
    }
}

/// Whether threads have timers, as one asks that has just changed `procid`.
fn is_profiled() -> bool {
    // Pairs with the fence in set_rate: this thread sees the rate, or that one the id.
    fence(Ordering::SeqCst);
    sched().profilehz.load(Ordering::Relaxed) != 0
}

/// Makes the timer of an M that has a thread, unless there is one; none on the threads of others, whose signal stack
/// may be too small. The timers are locked.
fn make(mp: &M, _: &MutexGuard<'_, ()>) -> std::io::Result<()> {
    let (procid, hz) = (mp.procid.load(Ordering::Relaxed), sched().profilehz.load(Ordering::Relaxed));
    if hz == 0 || procid == 0 || mp.isextra.get() || mp.m_os.profile_timer_valid.load(Ordering::Relaxed) {
        return Ok(());
    }
    let period = 1_000_000_000 / hz as u32;
    // The first part of a period is a random one, as threads that begin together would else be seen together.
    let first = 1 + cheaprandn(period);
    mp.m_os.profile_timer.set(make_thread_timer(procid, libc::SIGPROF, mark(), first, period)?);
    mp.m_os.profile_timer_valid.store(true, Ordering::Relaxed);
    mp.profilehz.set(hz);
    Ok(())
}

/// Deletes the timer of an M, if there is one. The timers are locked.
fn delete(mp: &M, _: &MutexGuard<'_, ()>) {
    if mp.m_os.profile_timer_valid.swap(false, Ordering::Relaxed) {
        delete_thread_timer(mp.m_os.profile_timer.get());
        mp.profilehz.set(0);
    }
}

/// Signals each thread of an M so many times in a second that it is on a processor; none, for 0. If one can't have
/// a timer, none has.
#[cfg(feature = "pprof")]
pub(in crate::runtime) fn set_rate(hz: i32) -> std::io::Result<()> {
    use crate::runtime::m::count::ALLM;

    let locked = lock_timers();
    sched().profilehz.store(hz, Ordering::Relaxed);
    // Pairs with the fence of a thread that begins or ends.
    fence(Ordering::SeqCst);
    // Acquire pairs with mcommoninit: the M's are set up.
    let all = || std::iter::successors(ALLM.0.load(Ordering::Acquire), |mp| mp.alllink.get());
    let made = if hz == 0 { Ok(()) } else { all().try_for_each(|mp| make(mp, &locked)) };
    if hz == 0 || made.is_err() {
        sched().profilehz.store(0, Ordering::Relaxed);
        all().for_each(|mp| delete(mp, &locked));
    }
    made
}
