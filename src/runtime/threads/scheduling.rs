//! Processors and scheduling policies of threads that are goroutines.
//!
//! The kernel schedules threads. So a goroutine that asks for processors, or for a policy, is
//! locked to its thread first, as [`lock_os_thread`](crate::lock_os_thread) does. It can't be
//! unlocked, and its thread ends with it. Another goroutine can be given processors only once it is
//! locked.
//!
//! A new thread inherits its maker's policy. So a maker with a policy other than the usual one
//! makes a thread of the system.

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{clockid_t, cpu_set_t, pthread_t, sched_param};

use crate::runtime::base::os::thread_clock;
use crate::runtime::data::runtime2::G;
use crate::runtime::m::lockosthread::{lock_os_thread, unlock_os_thread};
use crate::runtime::threads::record::{is_this_goroutine, this_goroutine};
use crate::runtime::tls::g_of_thread;

/// Whether the program has given a thread another policy than the usual one.
static POLICIES: AtomicBool = AtomicBool::new(false);

/// The thread of a goroutine, as the kernel knows it.
enum Thread {
    /// The running goroutine's, which is locked to it or not.
    Own { locked: bool },
    /// That to which another goroutine is locked.
    Locked(c_int),
    /// Another goroutine has none.
    None,
}

impl Thread {
    /// Returns the thread of the goroutine by this `pthread_t`; none for a thread of the system.
    fn of(thread: pthread_t) -> Option<Thread> {
        let gp = g_of_thread(thread)?;
        let locked = |gp: &G| gp.lockedm.get();
        Some(match (is_this_goroutine(thread), locked(gp)) {
            (Some(gp), _) => Thread::Own { locked: locked(gp).is_some() },
            (None, Some(mp)) => Thread::Locked(mp.procid.load(Ordering::Relaxed) as c_int),
            (None, None) => Thread::None,
        })
    }

    /// Calls `change` with the thread's id, where 0 stands for the caller's own thread. Locks the
    /// running goroutine to its thread for that. Returns the error, or 0.
    fn change(self, change: impl FnOnce(c_int) -> c_int) -> c_int {
        let error = |result: c_int| if result == 0 { 0 } else { last_error() };
        match self {
            Thread::Own { locked: true } => error(change(0)),
            Thread::Own { locked: false } => {
                lock_os_thread();
                let error = error(change(0));
                if error != 0 {
                    unlock_os_thread();
                }
                error
            }
            Thread::Locked(tid) => error(change(tid)),
            Thread::None => libc::ENOTSUP,
        }
    }

    /// Returns the thread's id, where 0 stands for the caller's own thread; none if it has none.
    fn id(self) -> Option<c_int> {
        match self {
            Thread::Own { .. } => Some(0),
            Thread::Locked(tid) => Some(tid),
            Thread::None => None,
        }
    }
}

/// Returns the error of the last call of the C library's.
fn last_error() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)
}

/// `pthread_setaffinity_np` of a goroutine; none for a thread of the system.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn set_affinity(thread: pthread_t, size: usize, set: *const cpu_set_t) -> Option<c_int> {
    // SAFETY: as the caller says.
    Some(Thread::of(thread)?.change(|tid| unsafe { libc::sched_setaffinity(tid, size, set) }))
}

/// `pthread_getaffinity_np` of a goroutine; none for a thread of the system. A goroutine that isn't
/// locked to a thread may run on the processors of the process.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn get_affinity(thread: pthread_t, size: usize, set: *mut cpu_set_t) -> Option<c_int> {
    let tid = Thread::of(thread)?.id().unwrap_or(0);
    // SAFETY: as the caller says.
    let got = unsafe { libc::sched_getaffinity(tid, size, set) };
    Some(if got == 0 { 0 } else { last_error() })
}

/// `pthread_setschedparam` of a goroutine; none for a thread of the system. The usual policy needs
/// no thread.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn set_sched_param(
    thread: pthread_t,
    policy: c_int,
    param: *const sched_param,
) -> Option<c_int> {
    // SAFETY: as the caller says.
    let is_usual = unsafe { policy == libc::SCHED_OTHER && (*param).sched_priority == 0 };
    if !is_usual {
        POLICIES.store(true, Ordering::Relaxed);
    }
    let thread = Thread::of(thread)?;
    if is_usual && matches!(thread, Thread::Own { locked: false } | Thread::None) {
        return Some(0);
    }
    // SAFETY: as the caller says.
    Some(thread.change(|tid| unsafe { libc::sched_setscheduler(tid, policy, param) }))
}

/// Whether the caller has a policy other than the usual one, which a thread that it makes inherits.
/// A policy that other processes have given it doesn't count, unless the program gives policies.
pub(super) fn has_policy() -> bool {
    if !POLICIES.load(Ordering::Relaxed) {
        return false;
    }
    let thread = match this_goroutine() {
        Some((gp, _)) if gp.lockedm.get().is_none() => Thread::None,
        Some(_) => Thread::Own { locked: true },
        None => Thread::Own { locked: false },
    };
    policy_of(thread).is_ok_and(|(policy, _)| policy != libc::SCHED_OTHER)
}

/// `pthread_setschedprio` of a goroutine; none for a thread of the system.
#[cold]
#[inline(never)]
pub(super) fn set_sched_priority(thread: pthread_t, priority: c_int) -> Option<c_int> {
    let (policy, mut param) = policy_of(Thread::of(thread)?).ok()?;
    param.sched_priority = priority;
    // SAFETY: a parameter of ours.
    unsafe { set_sched_param(thread, policy, &param) }
}

/// `pthread_getschedparam` of a goroutine; none for a thread of the system.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn get_sched_param(
    thread: pthread_t,
    policy: *mut c_int,
    param: *mut sched_param,
) -> Option<c_int> {
    let got = policy_of(Thread::of(thread)?);
    Some(match got {
        Ok((its_policy, its_param)) => {
            // SAFETY: as the caller says.
            unsafe {
                policy.write(its_policy);
                param.write(its_param);
            }
            0
        }
        Err(error) => error,
    })
}

/// Returns the policy of a thread and its parameter. A goroutine without a thread has the usual
/// one.
fn policy_of(thread: Thread) -> Result<(c_int, sched_param), c_int> {
    let mut param = MaybeUninit::<sched_param>::zeroed();
    let Some(tid) = thread.id() else {
        // SAFETY: all zero is a valid parameter.
        return Ok((libc::SCHED_OTHER, unsafe { param.assume_init() }));
    };
    // SAFETY: the kernel fills the parameter, which is valid in any case.
    unsafe {
        let policy = libc::sched_getscheduler(tid);
        if policy < 0 || libc::sched_getparam(tid, param.as_mut_ptr()) != 0 {
            return Err(last_error());
        }
        Ok((policy, param.assume_init()))
    }
}

/// `pthread_getcpuclockid` of a goroutine; none for a thread of the system. The clock is that of
/// the thread that runs it, so only a goroutine that is locked to its thread has one that counts
/// its own time.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn cpu_clock(thread: pthread_t, clock: *mut clockid_t) -> Option<c_int> {
    let found = match Thread::of(thread)? {
        Thread::Own { .. } => libc::CLOCK_THREAD_CPUTIME_ID,
        Thread::Locked(tid) => thread_clock(tid as u64),
        Thread::None => return Some(libc::ENOENT),
    };
    // SAFETY: as the caller says.
    unsafe { clock.write(found) };
    Some(0)
}
