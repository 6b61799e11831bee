//! Signals that are sent to a thread which is a goroutine.
//!
//! A signal that `pthread_kill` sends to a goroutine is *left* to it (`m/left_signals.rs`) in three
//! cases:
//!
//! - The goroutine blocks it. It handles the signal when it unblocks it, or takes it in a wait for
//!   signals (`sigwait.rs`). The kernel can't keep the signal, as the goroutine's thread changes.
//! - The goroutine hasn't begun. It handles the signal when it begins.
//! - It waits in a call of the C library. The wait ends, and the goroutine handles the signal
//!   (`m/signaled.rs`). Then the call fails with `EINTR`, or waits again, as it would on a thread.
//!
//! Other signals go to the kernel. A goroutine that runs gets the signal on its M's thread. It has
//! no thread while it is in a queue, or waits at something of this crate's own, or for the end of a
//! thread. There the process gets the signal, and a thread that doesn't block it handles it. So a
//! handler can't tell from its thread for whom such a signal is.

use std::cell::Cell;
use std::ffi::c_int;
use std::mem;
use std::ptr;
use std::sync::atomic::Ordering;

use libc::{pthread_t, siginfo_t, sigval};

use crate::runtime::arch::raw;
use crate::runtime::base::os::{SIG_PREEMPT, signal_m};
use crate::runtime::data::runtime2::G;
use crate::runtime::g::aborted::is_marked;
use crate::runtime::m::left_signals::{Left, SIGRTMIN, leave, pid, signals_of};
use crate::runtime::sched::abort::{end_wait_if_marked, while_it_stays};
use crate::runtime::stdpark::futex_table::end_waits_later;
use crate::runtime::stdpark::gate::may_ready;
use crate::runtime::threads::record::{is_gone, this_goroutine};
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
    let done = Cell::new(Done::Nothing);
    let find = |gp: &'static G| {
        let left = if can_be_left { leave(gp, signal) } else { Left::No };
        done.set(match (left, thread_of(gp)) {
            (Left::No, None) => Done::NoThread,
            // To the thread that runs it now.
            (Left::No, Some(tid)) => Done::Sent(by(Some(tid))),
            (Left::WaitsInKernel, Some(tid)) => {
                signal_m(tid, SIG_PREEMPT);
                Done::Sent(0)
            }
            _ => Done::Sent(0),
        });
        true
    };
    // A handler may send a signal to its own thread anywhere, also where that has the scan bit.
    if runs_here {
        find(gp);
    } else {
        while_it_stays(gp, |gp| signals_of(gp).sending(|| find(gp)));
        end_wait(gp);
    }
    const ENDED: isize = -libc::ESRCH as isize;
    Some(match done.get() {
        Done::Nothing if is_gone(gp) => libc::ESRCH,
        // As long as it can be joined, that is no error.
        Done::Nothing => 0,
        // Not before: the caller may get the signal. Its thread may have ended.
        Done::NoThread | Done::Sent(ENDED) => -by(None) as c_int,
        Done::Sent(result) => -result as c_int,
    })
}

/// What [`send`] has done.
#[derive(Clone, Copy)]
enum Done {
    /// The goroutine has ended.
    Nothing,
    /// No thread runs the goroutine, and the signal can't be left to it.
    NoThread,
    /// The signal was left, or was sent with this result.
    Sent(isize),
}

/// Ends the wait of `gp`, if it was aborted, or has got a signal, and waits.
fn end_wait(gp: &'static G) {
    if !is_marked(gp) {
        return;
    }
    if may_ready() { end_wait_if_marked(gp) } else { end_waits_later() }
}

/// Returns the number of the thread of the system that runs `gp`, if one does.
fn thread_of(gp: &G) -> Option<u64> {
    gp.m.get().map(|mp| mp.procid.load(Ordering::Relaxed)).filter(|tid| *tid != 0)
}
