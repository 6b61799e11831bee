//! Conditions.
//!
//! A wait queues itself at the condition's address, then releases the mutex, and then sleeps. A
//! signal wakes the first on the list. So a signal that comes after the mutex was released finds
//! the wait, no signal is lost or counted twice, and no wait ends without a reason. Nobody uses the
//! condition after a wait was queued: the condition may be destroyed as soon as its last wait was
//! woken.
//!
//! Waits in glibc have begun before threads were goroutines. Such a wait is counted in a word of
//! the condition's, and as long as there is one, each signal is glibc's, too.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, timespec};

use crate::runtime::arch::getg;
use crate::runtime::arch::syscall::keeping_errno;
use crate::runtime::base::real;
use crate::runtime::explore::clock::now;
use crate::runtime::g::explored::exploring;
use crate::runtime::sched::exploration::point;
use crate::runtime::stdpark::futex::{Deadline, wake_queued};
use crate::runtime::stdpark::futex_table::ANY_BIT;
use crate::runtime::stdpark::gate::may_park;
use crate::runtime::stdpark::queued::{Queued, has_queued, sleeper};
use crate::runtime::threads::cancel::cancellation_point;
use crate::runtime::threads::locks::mutex::{self, lock_after_wait, unlock_for_wait};
use crate::runtime::threads::locks::{Limit, of_threads, unseen};
use crate::runtime::threads::record::this_thread;

/// The offset of the word that counts waits in glibc. It isn't the same in all versions.
pub(super) static REFERENCES_AT: AtomicUsize = AtomicUsize::new(0);

/// The lowest bits of that word; the count is above them.
const SHARED: u32 = 1;
pub(super) const MONOTONIC: u32 = 2;
const FLAGS: u32 = 7;

/// Stands for the condition's own clock.
const OWN_CLOCK: clockid_t = -1;

/// A limit by the condition's own clock.
#[inline(always)]
pub(in crate::runtime::threads) fn limit_at(time: *const timespec) -> Limit {
    Limit::by(OWN_CLOCK, time)
}

/// Returns the word that counts waits in glibc.
///
/// # Safety
/// `cond` is a condition.
#[inline(always)]
unsafe fn references(cond: *mut pthread_cond_t) -> u32 {
    let at = REFERENCES_AT.load(Ordering::Relaxed);
    // SAFETY: a word of the condition's.
    unsafe { (*cond.byte_add(at).cast::<AtomicU32>()).load(Ordering::Relaxed) }
}

/// Calls glibc's function.
///
/// # Safety
/// As that function.
unsafe fn wait_by_glibc(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, limit: Limit) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        match limit {
            Limit { time, .. } if time.is_null() => real::pthread_cond_wait(cond, mutex),
            Limit { clock: OWN_CLOCK, time } => real::pthread_cond_timedwait(cond, mutex, time),
            Limit { clock, time } => real::pthread_cond_clockwait(cond, mutex, clock, time),
        }
    }
}

/// `pthread_cond_wait`, before threads are goroutines.
///
/// # Safety
/// As the C library's.
#[inline(never)]
pub(in crate::runtime::threads) unsafe fn wait_early(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    limit: Limit,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        unseen::wait_in_glibc_unless_live(mutex, || wait_by_glibc(cond, mutex, limit))
            .unwrap_or_else(|| wait(cond, mutex, limit))
    }
}

/// `pthread_cond_wait`.
///
/// # Safety
/// As the C library's: this may unwind.
#[inline(never)]
pub(in crate::runtime::threads) unsafe fn wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    limit: Limit,
) -> c_int {
    // SAFETY: as the caller says. When a thread is canceled, it has the mutex.
    unsafe {
        match this_thread() {
            Some(_) => cancellation_point(),
            None if getg().is_none() => real::pthread_testcancel(),
            None => {}
        }
        let result = keeping_errno(|| wait_in_line(cond, mutex, limit));
        if result != libc::ECANCELED {
            return result;
        }
        cancellation_point();
        0
    }
}

/// [`wait`] that returns `ECANCELED` if the thread was canceled.
///
/// # Safety
/// As [`wait`].
unsafe fn wait_in_line(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, limit: Limit) -> c_int {
    // SAFETY: as the caller says. The waiter stays on this stack until it has slept.
    unsafe {
        let references = references(cond);
        if references & SHARED != 0 {
            let wait = || unseen::wait_in_glibc(mutex, || wait_by_glibc(cond, mutex, limit));
            return if mutex::is_ours(mutex) { wait() } else { of_threads::as_thread(wait) };
        }
        let limit = match limit.clock {
            OWN_CLOCK if references & MONOTONIC != 0 => Limit { clock: libc::CLOCK_MONOTONIC, ..limit },
            OWN_CLOCK => Limit { clock: libc::CLOCK_REALTIME, ..limit },
            _ => limit,
        };
        let limit = match limit.deadline() {
            Ok(limit) => limit,
            Err(error) => return error,
        };
        let until = limit.as_ref().map(Deadline::until);
        let waiter = Queued::new(sleeper(until), cond.expose_provenance(), ANY_BIT);
        waiter.queue();
        let is_ours = mutex::is_ours(mutex);
        let error = if is_ours {
            unlock_for_wait(mutex)
        } else {
            of_threads::unlock(|| real::pthread_mutex_unlock(mutex))
        };
        if error != 0 {
            // A signal that has found this wait was meant for another one.
            if !waiter.leave() {
                signal(cond);
            }
            return error;
        }
        // A signal may come before the sleep.
        if exploring() && may_park().is_some() {
            point("a wait for a condition");
        }
        let was_woken = waiter.sleep(until, true);
        let error = if is_ours {
            lock_after_wait(mutex)
        } else {
            of_threads::lock(|| real::pthread_mutex_lock(mutex))
        };
        match error {
            0 if was_woken => 0,
            0 if until.is_some_and(|until| until <= now()) => libc::ETIMEDOUT,
            // The time isn't over, so an abort or a signal has ended the wait.
            0 => libc::ECANCELED,
            error => error,
        }
    }
}

/// Wakes up to `n` that wait, and lets glibc do the same, if waits have begun in glibc.
///
/// # Safety
/// `cond` is a condition.
#[inline(always)]
unsafe fn wake(
    cond: *mut pthread_cond_t,
    n: u32,
    by_glibc: unsafe fn(*mut pthread_cond_t) -> c_int,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        let references = references(cond);
        let addr = cond.expose_provenance();
        // A wait that the signal has to find happened before it, so the count is there. The wait
        // has released the mutex since.
        if references & SHARED == 0 && has_queued(addr) {
            wake_queued(addr, n, ANY_BIT);
        }
        if references > FLAGS || references & SHARED != 0 { by_glibc(cond) } else { 0 }
    }
}

/// `pthread_cond_signal`.
///
/// # Safety
/// As the C library's.
#[inline(always)]
pub(in crate::runtime::threads) unsafe fn signal(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: as the caller says.
    unsafe { wake(cond, 1, real::pthread_cond_signal) }
}

/// `pthread_cond_broadcast`.
///
/// # Safety
/// As the C library's.
#[inline(always)]
pub(in crate::runtime::threads) unsafe fn broadcast(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: as the caller says.
    unsafe { wake(cond, u32::MAX, real::pthread_cond_broadcast) }
}

/// Returns the offset of the word in which a condition with this clock differs from an empty one.
pub(super) fn offset_of_references(monotonic: &pthread_cond_t) -> Option<usize> {
    const WORDS: usize = size_of::<pthread_cond_t>() / size_of::<u32>();
    // SAFETY: a condition is made of words.
    let words = unsafe { &*ptr::from_ref(monotonic).cast::<[u32; WORDS]>() };
    let at = words.iter().position(|&word| word != 0)?;
    let is_alone = words.iter().sum::<u32>() == MONOTONIC && words[at] == MONOTONIC;
    is_alone.then_some(at * size_of::<u32>())
}
