//! Signals that are sent to a thread which is a goroutine.
//!
//! A goroutine that runs gets the signal on its M's thread. One that waits has no thread, so the
//! process gets the signal, and a thread that doesn't block it handles it. So a handler can't tell
//! from its thread for whom the signal is.

use std::cell::Cell;
use std::ffi::c_int;
use std::mem;
use std::sync::atomic::Ordering;

use libc::{pthread_t, siginfo_t, sigval};

use crate::runtime::arch::raw;
use crate::runtime::sched::abort::while_it_stays;
use crate::runtime::threads::record;
use crate::runtime::tls::g_of_thread;

/// The C library uses these two itself, and sends none of them.
const RESERVED: [c_int; 2] = [32, 33];

/// The largest number of a signal.
const SIGRTMAX: c_int = 64;

/// Sends `signal` to `thread`, if it is a goroutine. Returns the result of `pthread_kill`; none for
/// a thread of the system.
#[cold]
#[inline(never)]
pub(super) fn kill(thread: pthread_t, signal: c_int) -> Option<c_int> {
    let number = signal as usize;
    send(thread, signal, |tid| {
        let call = match tid {
            Some(tid) => (libc::SYS_tgkill, [pid(), tid, number, 0, 0, 0]),
            None => (libc::SYS_kill, [pid(), number, 0, 0, 0, 0]),
        };
        // SAFETY: no memory is passed.
        unsafe { raw(call.0, call.1) }
    })
}

/// Sends `signal` with a value to `thread`, if it is a goroutine. Returns the result of
/// `pthread_sigqueue`; none for a thread of the system.
#[cold]
#[inline(never)]
pub(super) fn sigqueue(thread: pthread_t, signal: c_int, value: sigval) -> Option<c_int> {
    /// The part of the kernel's `siginfo_t` that a sender fills in.
    #[repr(C)]
    struct Queued {
        signo: c_int,
        errno: c_int,
        code: c_int,
        pid: libc::pid_t,
        uid: libc::uid_t,
        value: sigval,
    }

    // SAFETY: all zero is a valid siginfo_t.
    let mut info: siginfo_t = unsafe { mem::zeroed() };
    // SAFETY: the user's id; the sender's part of the info is larger than this.
    unsafe {
        let (pid, uid) = (pid() as libc::pid_t, libc::getuid());
        let queued = Queued { signo: signal, errno: 0, code: libc::SI_QUEUE, pid, uid, value };
        (&raw mut info).cast::<Queued>().write(queued);
    }
    let (info, number) = ((&raw const info).expose_provenance(), signal as usize);
    send(thread, signal, |tid| {
        let call = match tid {
            Some(tid) => (libc::SYS_rt_tgsigqueueinfo, [pid(), tid, number, info, 0, 0]),
            None => (libc::SYS_rt_sigqueueinfo, [pid(), number, info, 0, 0, 0]),
        };
        // SAFETY: the kernel reads the info.
        unsafe { raw(call.0, call.1) }
    })
}

/// Calls `by`, which sends `signal`, with the id of the thread that runs the goroutine by this
/// `pthread_t`, if one does. Returns the error; none for a thread of the system.
fn send(thread: pthread_t, signal: c_int, by: impl Fn(Option<usize>) -> isize) -> Option<c_int> {
    let gp = g_of_thread(thread)?;
    if !(0..=SIGRTMAX).contains(&signal) || RESERVED.contains(&signal) {
        return Some(libc::EINVAL);
    }
    let runs_on = Cell::new(None);
    while_it_stays(gp, |gp| {
        let tid = gp.m.get().map(|mp| mp.procid.load(Ordering::Relaxed) as usize);
        runs_on.set(Some(tid.filter(|tid| *tid != 0)));
        true
    });
    // Sent only now: the caller may get the signal, and a handler may wake the goroutine.
    let result = match runs_on.get() {
        // It has ended. As long as it can be joined, that is no error.
        None => return Some(if record::is_gone(gp) { libc::ESRCH } else { 0 }),
        Some(tid) => by(tid),
    };
    // The thread may have ended.
    let ended = runs_on.get().is_some_and(|tid| tid.is_some()) && result == -libc::ESRCH as isize;
    Some(-(if ended { by(None) } else { result }) as c_int)
}

/// Returns the id of the process.
fn pid() -> usize {
    // SAFETY: no memory is passed.
    unsafe { raw(libc::SYS_getpid, [0; 6]) as usize }
}
