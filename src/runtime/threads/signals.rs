//! Signals that are sent to a thread which is a goroutine.
//!
//! A signal that `pthread_kill` sends to a goroutine is *left* to it ([`Signals::left`]) in three
//! cases:
//!
//! - The goroutine blocks it. It handles the signal when it unblocks it, or takes it in a wait for
//!   signals (`sigwait.rs`). The kernel can't keep the signal, as the goroutine's thread changes.
//! - The goroutine hasn't begun. It handles the signal when it begins.
//! - It waits for a lock. It is woken, handles the signal, and waits again ([`handling_signals`]).
//!
//! To handle a signal, the goroutine sends it to the thread that runs it at that time.
//!
//! Other signals go to the kernel. A goroutine that runs gets the signal on its M's thread. One
//! that waits for anything else has no thread, so the process gets the signal, and a thread that
//! doesn't block it handles it. So there a handler can't tell from its thread for whom the signal
//! is.

use std::cell::Cell;
use std::ffi::c_int;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use libc::{pthread_t, siginfo_t, sigval};

use crate::runtime::arch::syscall::keeping_errno;
use crate::runtime::arch::{raw, thread_pointer};
use crate::runtime::base::os::{SIG_PREEMPT, gettid, signal_m};
use crate::runtime::data::runtime2::G;
use crate::runtime::m::sigmask::{bit, mask_of_any};
use crate::runtime::sched::abort::while_it_stays;
use crate::runtime::stdpark::futex::wake_queued;
use crate::runtime::stdpark::futex_table::ANY_BIT;
use crate::runtime::threads::record::{is_gone, this_goroutine};
use crate::runtime::tls::g_of_thread;

/// The C library uses these two itself, and sends none of them.
const RESERVED: [c_int; 2] = [32, 33];

/// The largest number of a signal.
const SIGRTMAX: c_int = 64;

/// The kernel's first real-time signal. The C library's own are real-time signals.
const SIGRTMIN: c_int = 32;

/// What is known of the signals of a goroutine with thread-locals of its own.
pub(super) struct Signals {
    /// A bit each. A signal that is sent again meanwhile comes once, as from the kernel. No
    /// real-time signal, which must come as often as it was sent.
    left: AtomicU32,
    /// The address at which the goroutine waits for a lock; [`BEGINS`], or 0 if it does neither.
    waits_at: AtomicUsize,
    /// The signals for one of which it waits in the kernel, as in [`left`](Self::left).
    waits_for: AtomicU32,
}

/// In [`Signals::waits_at`]: the goroutine hasn't begun.
const BEGINS: usize = 1;

thread_local! {
    static SIGNALS: Signals = const {
        Signals { left: AtomicU32::new(0), waits_at: AtomicUsize::new(0), waits_for: AtomicU32::new(0) }
    };
}

/// Returns what is known of the signals of `gp`, which has thread-locals of its own.
pub(super) fn signals_of(gp: &G) -> &Signals {
    // A thread-local is equally far from the thread pointer in each thread.
    let own = SIGNALS.with(|own| ptr::from_ref(own).expose_provenance());
    let addr = gp.ext.tp.get().wrapping_add(own.wrapping_sub(thread_pointer()));
    // SAFETY: one of the goroutine's thread-locals, whose memory is there as long as the G.
    unsafe { &*ptr::with_exposed_provenance(addr) }
}

/// The signals of a mask that can be left to a goroutine.
fn that_can_be_left(mask: u64) -> u32 {
    mask as u32 & i32::MAX as u32
}

impl Signals {
    /// Notes that the goroutine is a thread that hasn't begun.
    pub(super) fn begin(&self) {
        self.waits_at.store(BEGINS, Ordering::Relaxed);
    }

    /// Returns the signals that are left to the goroutine, as a mask.
    pub(super) fn left(&self) -> u64 {
        // SeqCst: see `leave`.
        self.left.load(Ordering::SeqCst).into()
    }

    fn add(&self, signal: c_int) {
        self.left.fetch_or(bit(signal) as u32, Ordering::SeqCst);
    }

    /// Takes the signal back. Returns whether it was there.
    pub(super) fn remove(&self, signal: c_int) -> bool {
        let bit = bit(signal) as u32;
        self.left.fetch_and(!bit, Ordering::SeqCst) & bit != 0
    }

    /// Takes the first signal of `mask`.
    pub(super) fn take_one_of(&self, mask: u64) -> Option<c_int> {
        let signals = |left: u64| (1..SIGRTMIN).filter(move |&signal| left & bit(signal) != 0);
        signals(self.left() & mask).find(|&signal| self.remove(signal))
    }

    /// Notes for which signals the goroutine waits in the kernel; none of them if it doesn't wait.
    pub(super) fn wait_for(&self, mask: u64) {
        // SeqCst: see `leave`.
        self.waits_for.store(that_can_be_left(mask), Ordering::SeqCst);
    }
}

/// What the sender of a signal that was left has still to do.
#[derive(Clone, Copy)]
enum Then {
    Nothing,
    /// Wake the goroutine, which waits for a lock at this address.
    Wake(usize),
    /// End the wait for signals of the thread with this number.
    Alarm(u64),
}

/// Leaves `signal` to `gp`, if it blocks the signal, begins, or waits for a lock. Returns what is
/// to be done then; none if it does none of these.
///
/// `gp` notes the new state, and then looks at what was left. So either it finds the signal, or
/// this finds the new state: all of that is SeqCst.
fn leave(gp: &'static G, signal: c_int) -> Option<Then> {
    let signals = signals_of(gp);
    signals.add(signal);
    if mask_of_any(gp) & bit(signal) != 0 {
        let waits = signals.waits_for.load(Ordering::SeqCst) & bit(signal) as u32 != 0;
        return Some(thread_of(gp).filter(|_| waits).map_or(Then::Nothing, Then::Alarm));
    }
    match signals.waits_at.load(Ordering::SeqCst) {
        // It may have handled the signal meanwhile.
        0 => (!signals.remove(signal)).then_some(Then::Nothing),
        BEGINS => Some(Then::Nothing),
        addr => Some(Then::Wake(addr)),
    }
}

/// Calls `wait`, which waits for a lock at `addr`, and may end for nothing. Then handles the
/// signals that the caller, if it is a goroutine, has got meanwhile. If it has got one before the
/// wait begins, calls `give_up` instead.
pub(super) fn handling_signals<R>(addr: usize, wait: impl FnOnce() -> R, give_up: impl FnOnce() -> R) -> R {
    let Some((gp, _)) = this_goroutine() else { return wait() };
    let signals = signals_of(gp);
    // SeqCst: see `leave`.
    signals.waits_at.store(addr, Ordering::SeqCst);
    let result = if is_to_handle(gp) { give_up() } else { wait() };
    handle_what_was_left(gp);
    result
}

/// Handles the signals that were left to `gp`, the running goroutine, which begins, or has waited.
pub(super) fn handle_what_was_left(gp: &'static G) {
    // SeqCst: see `leave`.
    signals_of(gp).waits_at.store(0, Ordering::SeqCst);
    handle_unblocked(gp);
}

/// Handles the signals that were left to `gp`, the running goroutine, and that it doesn't block.
pub(super) fn handle_unblocked(gp: &'static G) {
    if is_to_handle(gp) {
        handle(gp);
    }
}

/// Whether a signal was left to `gp` that it doesn't block.
fn is_to_handle(gp: &G) -> bool {
    signals_of(gp).left() & !mask_of_any(gp) != 0
}

/// Sends the signals that were left to `gp`, the running goroutine, and that it doesn't block, to
/// its thread.
#[cold]
#[inline(never)]
pub(super) fn handle(gp: &'static G) {
    let process = pid();
    // A handler may fork. The child inherits no signals.
    while pid() == process
        && let Some(signal) = signals_of(gp).take_one_of(!mask_of_any(gp))
    {
        // A handler that runs now may be the program's.
        keeping_errno(|| send_to_this_thread(signal));
    }
}

/// Sends `signal` to the thread of the system on which the caller runs. Returns the result of
/// `tgkill`.
fn send_to_this_thread(signal: c_int) -> isize {
    // SAFETY: no memory is passed.
    unsafe { raw(libc::SYS_tgkill, [pid(), gettid() as usize, signal as usize, 0, 0, 0]) }
}

/// Sends `signal` to `thread`, if it is a goroutine. Returns the result of `pthread_kill`; none for
/// a thread of the system.
#[cold]
#[inline(never)]
pub(super) fn kill(thread: pthread_t, signal: c_int) -> Option<c_int> {
    let number = signal as usize;
    let can_be_left = (1..SIGRTMIN).contains(&signal);
    send(thread, signal, can_be_left, |tid| {
        let call = match tid {
            Some(tid) => (libc::SYS_tgkill, [pid(), tid as usize, number, 0, 0, 0]),
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
    let info = info(signal, libc::SI_QUEUE, value);
    let (info, number) = ((&raw const info).expose_provenance(), signal as usize);
    send(thread, signal, false, |tid| {
        let call = match tid {
            Some(tid) => (libc::SYS_rt_tgsigqueueinfo, [pid(), tid as usize, number, info, 0, 0]),
            None => (libc::SYS_rt_sigqueueinfo, [pid(), number, info, 0, 0, 0]),
        };
        // SAFETY: the kernel reads the info.
        unsafe { raw(call.0, call.1) }
    })
}

/// What the kernel says of a signal that this process sends.
pub(super) fn info(signal: c_int, code: c_int, value: sigval) -> siginfo_t {
    /// The part of the kernel's `siginfo_t` that a sender fills in.
    #[repr(C)]
    struct Sent {
        signo: c_int,
        errno: c_int,
        code: c_int,
        sender: Sender,
    }

    /// As aligned as the value.
    #[repr(C)]
    struct Sender {
        pid: libc::pid_t,
        uid: libc::uid_t,
        value: sigval,
    }

    // SAFETY: all zero is a valid siginfo_t; the user's id; the sender's part of the info is larger
    // than this.
    unsafe {
        let mut info: siginfo_t = mem::zeroed();
        let sender = Sender { pid: pid() as libc::pid_t, uid: libc::getuid(), value };
        let sent = Sent { signo: signal, errno: 0, code, sender };
        (&raw mut info).cast::<Sent>().write(sent);
        info
    }
}

/// Leaves `signal` to `thread`, if it can be left, and `thread` is a goroutine which is to get it
/// so. Otherwise calls `by`, which sends the signal, with the number of the thread of the system
/// that runs the goroutine, if one does. Returns the error; none for a thread of the system.
fn send(
    thread: pthread_t,
    signal: c_int,
    can_be_left: bool,
    by: impl Fn(Option<u64>) -> isize,
) -> Option<c_int> {
    let gp = g_of_thread(thread)?;
    if !(0..=SIGRTMAX).contains(&signal) || RESERVED.contains(&signal) {
        return Some(libc::EINVAL);
    }
    let runs_here = this_goroutine().is_some_and(|(this, _)| ptr::eq(this, gp));
    let found = Cell::new(Found::Ended);
    let find = |gp: &'static G| {
        let left = if can_be_left { leave(gp, signal) } else { None };
        found.set(left.map_or(Found::Runs(thread_of(gp)), Found::Left));
        true
    };
    // A handler may send a signal to its own thread anywhere, also where that has the scan bit.
    if runs_here {
        find(gp)
    } else {
        while_it_stays(gp, find)
    };
    // Sent only now: the caller may get the signal, and a handler may wake the goroutine.
    match found.get() {
        // As long as it can be joined, that is no error.
        Found::Ended if is_gone(gp) => return Some(libc::ESRCH),
        Found::Ended | Found::Left(Then::Nothing) => {}
        Found::Left(Then::Wake(addr)) => wake_queued(addr, u32::MAX, ANY_BIT),
        Found::Left(Then::Alarm(tid)) => _ = signal_m(tid, SIG_PREEMPT),
        Found::Runs(tid) => {
            let result = by(tid);
            // The thread may have ended.
            let ended = tid.is_some() && result == -libc::ESRCH as isize;
            return Some(-(if ended { by(None) } else { result }) as c_int);
        }
    }
    Some(0)
}

/// How [`send`] has found a goroutine.
#[derive(Clone, Copy)]
enum Found {
    Ended,
    /// The signal was left to it.
    Left(Then),
    /// It runs on the thread with this number, or on none.
    Runs(Option<u64>),
}

/// Returns the number of the thread of the system that runs `gp`, if one does.
fn thread_of(gp: &G) -> Option<u64> {
    gp.m.get().map(|mp| mp.procid.load(Ordering::Relaxed)).filter(|tid| *tid != 0)
}

/// Returns the id of the process.
fn pid() -> usize {
    // SAFETY: no memory is passed.
    unsafe { raw(libc::SYS_getpid, [0; 6]) as usize }
}
