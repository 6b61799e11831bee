//! Signals that are sent to a thread which is a goroutine.
//!
//! A goroutine that runs gets the signal on its M's thread. One that hasn't begun sends it to the
//! thread on which it begins. One that waits for a lock is woken, sends the signal to the thread
//! that it then has, and waits again ([`handling_signals`]). One that waits for anything else has
//! no thread, so the process gets the signal, and a thread that doesn't block it handles it. So
//! there a handler can't tell from its thread for whom the signal is.

use std::cell::Cell;
use std::ffi::c_int;
use std::mem;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use libc::{pthread_t, siginfo_t, sigval};

use crate::runtime::arch::raw;
use crate::runtime::arch::syscall::keeping_errno;
use crate::runtime::m::sigmask::{Change, change_mask};
use crate::runtime::sched::abort::while_it_stays;
use crate::runtime::stdpark::futex::wake_queued;
use crate::runtime::stdpark::futex_table::ANY_BIT;
use crate::runtime::threads::record::{Whose, is_gone, record_of, this_goroutine, this_thread, whose};
use crate::runtime::tls::g_of_thread;

/// The C library uses these two itself, and sends none of them.
const RESERVED: [c_int; 2] = [32, 33];

/// The largest number of a signal.
const SIGRTMAX: c_int = 64;

/// The kernel's first real-time signal. The C library's own are real-time signals.
const SIGRTMIN: c_int = 32;

/// Sends `signal` to `thread`, if it is a goroutine. Returns the result of `pthread_kill`; none for
/// a thread of the system.
#[cold]
#[inline(never)]
pub(super) fn kill(thread: pthread_t, signal: c_int) -> Option<c_int> {
    let number = signal as usize;
    send(thread, signal, |tid| {
        let call = match tid {
            Some(tid) => (libc::SYS_tgkill, [pid(), tid, number, 0, 0, 0]),
            None if signal != 0 && leave_to_thread(thread, signal) => return 0,
            None => (libc::SYS_kill, [pid(), number, 0, 0, 0, 0]),
        };
        // SAFETY: no memory is passed.
        unsafe { raw(call.0, call.1) }
    })
}

/// Signals that were left to a thread.
pub(super) struct Signals {
    /// A bit each. One that is sent again meanwhile comes once, as from the kernel.
    left: AtomicU32,
    /// The address at which the thread waits for a lock; [`BEGINS`], or 0 if it doesn't wait.
    waits_at: AtomicUsize,
}

/// In [`Signals::waits_at`]: the thread hasn't begun.
const BEGINS: usize = 1;

impl Signals {
    pub(super) fn of_new_thread() -> Self {
        Signals { left: AtomicU32::new(0), waits_at: AtomicUsize::new(BEGINS) }
    }

    fn add(&self, signal: c_int) {
        self.left.fetch_or(1 << (signal - 1), Ordering::SeqCst);
    }

    /// Takes the signal back. Returns whether it was there.
    fn remove(&self, signal: c_int) -> bool {
        let bit = 1 << (signal - 1);
        self.left.fetch_and(!bit, Ordering::SeqCst) & bit != 0
    }

    fn is_empty(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }

    /// Takes all, and calls `f` with each.
    fn take(&self, f: impl Fn(c_int)) {
        let all = self.left.swap(0, Ordering::SeqCst);
        (1..SIGRTMIN).filter(|signal| all >> (signal - 1) & 1 != 0).for_each(f);
    }
}

/// Leaves `signal` to `thread`, if it begins, or waits for a lock. Returns whether it does. Not a
/// real-time signal, which must come as often as it was sent.
fn leave_to_thread(thread: pthread_t, signal: c_int) -> bool {
    let Whose::Thread(gp) = whose(thread) else { return false };
    if signal >= SIGRTMIN {
        return false;
    }
    let signals = &record_of(gp).signals;
    // SeqCst: either the thread sees the signal before it waits, or after the wait, or this sees
    // that it doesn't wait.
    signals.add(signal);
    match signals.waits_at.load(Ordering::SeqCst) {
        // The thread may have handled it meanwhile.
        0 => !signals.remove(signal),
        BEGINS => true,
        addr => {
            wake_queued(addr, u32::MAX, ANY_BIT);
            true
        }
    }
}

/// Calls `wait`, which waits for a lock at `addr`, and may end for nothing. Then handles the
/// signals that the running thread has got meanwhile. If it has got one before the wait begins,
/// calls `give_up` instead.
pub(super) fn handling_signals<R>(addr: usize, wait: impl FnOnce() -> R, give_up: impl FnOnce() -> R) -> R {
    let Some(gp) = this_thread() else { return wait() };
    let signals = &record_of(gp).signals;
    // SeqCst: see leave_to_thread.
    signals.waits_at.store(addr, Ordering::SeqCst);
    let result = if signals.is_empty() { wait() } else { give_up() };
    handle_what_was_left(signals);
    result
}

/// Handles the signals that were left to the running thread, which begins, or has waited.
pub(super) fn handle_what_was_left(signals: &Signals) {
    // SeqCst: see leave_to_thread.
    signals.waits_at.store(0, Ordering::SeqCst);
    if !signals.is_empty() {
        handle(signals);
    }
}

/// Sends the signals that were left to the running thread to itself.
#[cold]
#[inline(never)]
fn handle(signals: &Signals) {
    let blocked = this_goroutine().map_or(0, |(gp, mp)| change_mask(gp, mp, Change::Nothing));
    let process = pid();
    signals.take(|signal| {
        // A handler may fork. The child inherits no signals.
        if pid() != process {
            return;
        }
        let number = signal as usize;
        // A signal that the thread blocks waits at the process, as the thread may change.
        let call = if blocked >> (signal - 1) & 1 == 0 {
            // SAFETY: no memory is passed.
            let tid = unsafe { raw(libc::SYS_gettid, [0; 6]) } as usize;
            (libc::SYS_tgkill, [process, tid, number, 0, 0, 0])
        } else {
            (libc::SYS_kill, [process, number, 0, 0, 0, 0])
        };
        // SAFETY: no memory is passed. A handler that runs now may be the program's.
        keeping_errno(|| unsafe { raw(call.0, call.1) });
    });
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
        None => return Some(if is_gone(gp) { libc::ESRCH } else { 0 }),
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
