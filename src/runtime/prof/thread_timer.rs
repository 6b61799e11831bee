//! The timers that signal threads after each period on a processor: Go's `setThreadCPUProfiler`.
//!
//! In Go each M looks at the rate whenever it runs a goroutine. Here [`set_rate`] makes the timers
//! of all threads that exist, and a thread that begins later makes its own.

use std::ffi::c_int;
use std::io;
use std::iter;
use std::mem;
use std::ptr;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::runtime::arch::syscall::syscall;
use crate::runtime::base::os::thread_clock;
use crate::runtime::base::rand::cheaprandn;
use crate::runtime::data::runtime2::{M, sched};
use crate::runtime::m::thread::ALLM;

/// Held while timers are made and deleted.
static TIMERS: Mutex<()> = Mutex::new(());

/// Its address is the value that the signals of these timers carry, and no other signals.
static OURS: u8 = 0;

fn mark() -> usize {
    (&raw const OURS).addr()
}

/// Whether a signal is from one of these timers, and not from one of the program's.
pub(in crate::runtime) fn is_from_timer(info: &libc::siginfo_t) -> bool {
    // SAFETY: a timer's signal has a value.
    info.si_code == libc::SI_TIMER && unsafe { info.si_value() }.sival_ptr.addr() == mark()
}

fn lock_timers() -> MutexGuard<'static, ()> {
    TIMERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the timer of the calling thread, which begins.
pub(in crate::runtime) fn begins(mp: &M) {
    // An error can't be reported from here: the profile lacks this thread.
    let _made = make(mp, &lock_timers());
}

/// Deletes the timer of the calling thread, which ends.
pub(in crate::runtime) fn ends(mp: &M) {
    delete(mp, &lock_timers());
}

/// The number of periods that have ended since the previous signal. Called in the handler, on the
/// thread of `mp`.
pub(super) fn periods(mp: &M) -> i64 {
    // SAFETY: no memory is passed. For a timer that is deleted meanwhile the call fails, which
    // counts as no missed period.
    let missed = unsafe { syscall!(SYS_timer_getoverrun, mp.m_os.profile_timer.get()) };
    1 + missed.max(0) as i64
}

/// Makes the timer of an M that has a thread, unless the M has one. A foreign thread (an extra M)
/// gets none, because its signal stack may be too small. The timers are locked.
fn make(mp: &M, _: &MutexGuard<'_, ()>) -> io::Result<()> {
    let (procid, hz) = (mp.procid.load(Ordering::Relaxed), sched().profilehz.load(Ordering::Relaxed));
    if hz == 0 || procid == 0 || mp.isextra.get() || mp.m_os.profile_timer_valid.load(Ordering::Relaxed) {
        return Ok(());
    }
    let period = 1_000_000_000 / hz as u32;
    // The first period has a random length. Otherwise threads that begin together would be sampled
    // together.
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

/// Makes timers signal each thread of an M `hz` times per second of processor time; 0 deletes the
/// timers. If a timer can't be made, all are deleted.
pub(in crate::runtime) fn set_rate(hz: i32) -> io::Result<()> {
    let locked = lock_timers();
    // Release pairs with the acquire in is_sampled: threads that begin or end find the sampler. The
    // fence pairs with the fence there.
    sched().profilehz.store(hz, Ordering::Release);
    fence(Ordering::SeqCst);
    // Acquire pairs with mcommoninit: the M's are set up.
    let all = || iter::successors(ALLM.0.load(Ordering::Acquire), |mp| mp.alllink.get());
    let made = if hz == 0 { Ok(()) } else { all().try_for_each(|mp| make(mp, &locked)) };
    if hz == 0 || made.is_err() {
        sched().profilehz.store(0, Ordering::Relaxed);
        all().for_each(|mp| delete(mp, &locked));
    }
    made
}

/// Makes a timer that sends the thread with this id a signal, with a value, when the thread has
/// been on a processor for `first` nanoseconds, and after each `period` more. It uses system calls
/// directly, because glibc's functions don't know other threads' clocks.
fn make_thread_timer(procid: u64, sig: c_int, value: usize, first: u32, period: u32) -> io::Result<i32> {
    let nanoseconds = |ns: u32| libc::timespec {
        tv_sec: i64::from(ns / 1_000_000_000),
        tv_nsec: i64::from(ns % 1_000_000_000),
    };
    let times = libc::itimerspec { it_value: nanoseconds(first), it_interval: nanoseconds(period) };
    let mut timer = 0_i32;
    // SAFETY: all zero is a valid sigevent. The kernel reads it and the times, and fills `timer`.
    unsafe {
        let mut event: libc::sigevent = mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = sig;
        event.sigev_value.sival_ptr = ptr::without_provenance_mut(value);
        event.sigev_notify_thread_id = procid as c_int;
        if syscall!(SYS_timer_create, thread_clock(procid), &raw mut event, &raw mut timer) != 0 {
            return Err(io::Error::last_os_error());
        }
        if syscall!(SYS_timer_settime, timer, 0, &raw const times, 0) != 0 {
            let error = io::Error::last_os_error();
            delete_thread_timer(timer);
            return Err(error);
        }
    }
    Ok(timer)
}

/// Deletes a timer that [`make_thread_timer`] made.
fn delete_thread_timer(timer: i32) {
    // SAFETY: no memory is passed.
    unsafe { syscall!(SYS_timer_delete, timer) };
}
