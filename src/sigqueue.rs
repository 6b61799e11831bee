//! What leads from the signal handler to who receives signals: Go's `sigqueue.go`.
//!
//! A handler may come at any instruction, so it can't allocate, lock, or ready a goroutine. All that it does
//! is to set the signal's bit in `mask`, and to wake the one receiver if that sleeps: [`sigsend`]. Who sends a
//! signal whose bit is set already has nothing to do: so a burst coalesces, and nothing is lost, as the
//! receiver clears a bit before it acts on it.
//!
//! Whether the receiver sleeps is what `state` says:
//!
//! ```text
//!     state        meaning                      sigsend makes it           signal_recv makes it
//!     idle         it looks around              sending                    receiving, and sleeps
//!     sending      it is to look at mask again  (nothing to do)            idle, and looks
//!     receiving    it sleeps on the note        idle, and wakes the note
//! ```
//!
//! The one sets a bit in `mask` and looks at `state` then; the other changes `state` and looks at `mask` then.
//! All of it is sequentially consistent, so one of them sees the other. `loom` checks that on this file
//! (`tests/loom`).

use std::ffi::c_int;
use std::io;

use crate::atomic::{AtomicU32, AtomicU64, Cell, Ordering, statics};
use crate::lock::note::{noteclear, notewakeup};
use crate::panic::throw;
use crate::proc::gosched::gosched;
use crate::proc::syscall::notetsleepg;
use crate::runtime2::Note;
use crate::sigaction::{sigdisable, sigenable, sigignore};

/// The handler's side and the receiver's. A signal is a bit, as in the kernel's sets. Go's `sig`.
struct Sig {
    note: Note,
    /// Those that have come and that nobody has taken yet.
    mask: AtomicU64,
    /// Those that somebody wants to receive. Written by one goroutine at a time, as the next.
    wanted: AtomicU64,
    /// Those that the program ignores.
    ignored: AtomicU64,
    /// What the receiver has taken and not returned yet.
    recv: Cell<u64>,
    state: AtomicU32,
    /// How many handlers are in [`sigsend`].
    delivering: AtomicU32,
}

// SAFETY: `recv` is the receiver's alone, and there is one.
unsafe impl Sync for Sig {}

statics! {
    static SIG: Sig = Sig {
        note: Note { key: AtomicU32::new(0) },
        mask: AtomicU64::new(0),
        wanted: AtomicU64::new(0),
        ignored: AtomicU64::new(0),
        recv: Cell::new(0),
        state: AtomicU32::new(SIG_IDLE),
        delivering: AtomicU32::new(0),
    };
}

const SIG_IDLE: u32 = 0;
const SIG_RECEIVING: u32 = 1;
const SIG_SENDING: u32 = 2;

/// The bit of a signal: 1 is the lowest, 64 the highest.
pub(crate) fn bit(sig: c_int) -> u64 {
    1 << (sig - 1)
}

/// Changes the state, if it is as expected.
fn cas(old: u32, new: u32) -> bool {
    SIG.state.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

/// Passes a signal on that has come, in its handler; says whether somebody wants it. Go's `sigsend`.
pub(crate) fn sigsend(sig: c_int) -> bool {
    SIG.delivering.fetch_add(1, Ordering::SeqCst);
    let wanted = SIG.wanted.load(Ordering::SeqCst) & bit(sig) != 0;
    if wanted && SIG.mask.fetch_or(bit(sig), Ordering::SeqCst) & bit(sig) == 0 {
        tell_receiver();
    }
    SIG.delivering.fetch_sub(1, Ordering::SeqCst);
    wanted
}

/// A bit of `mask` was set.
fn tell_receiver() {
    loop {
        match SIG.state.load(Ordering::SeqCst) {
            SIG_IDLE if cas(SIG_IDLE, SIG_SENDING) => return,
            SIG_RECEIVING if cas(SIG_RECEIVING, SIG_IDLE) => return notewakeup(&SIG.note),
            SIG_SENDING => return,
            SIG_IDLE | SIG_RECEIVING => {}
            _ => throw("sigsend: inconsistent state"),
        }
    }
}

/// The next signal that has come; waits for it, and has a thread for that time. Go's `signal_recv`.
///
/// # Safety
/// On a goroutine, one in the process. Nothing obtained from a thread-local is kept across this.
pub(crate) unsafe fn signal_recv() -> c_int {
    while SIG.recv.get() == 0 {
        // SAFETY: the caller's.
        unsafe { wait_for_sender() };
        SIG.recv.set(SIG.mask.swap(0, Ordering::SeqCst));
    }
    let all = SIG.recv.get();
    SIG.recv.set(all & (all - 1));
    all.trailing_zeros() as c_int + 1
}

/// Returns when there may be something in `mask`.
///
/// # Safety
/// As [`signal_recv`].
unsafe fn wait_for_sender() {
    loop {
        match SIG.state.load(Ordering::SeqCst) {
            SIG_IDLE if cas(SIG_IDLE, SIG_RECEIVING) => {
                // SAFETY: the caller's; the note is woken by who ends this state.
                unsafe { notetsleepg(&SIG.note, -1) };
                return noteclear(&SIG.note);
            }
            SIG_SENDING if cas(SIG_SENDING, SIG_IDLE) => return,
            SIG_IDLE | SIG_SENDING => {}
            _ => throw("signal_recv: inconsistent state"),
        }
    }
}

/// Waits until the receiver has acted on all that has come. Of signals that are disabled already, nothing
/// comes after this. Go's `signalWaitUntilIdle`.
///
/// # Safety
/// On a goroutine, and not on the receiver, of which there is one. Nothing obtained from a thread-local is
/// kept across this.
pub(crate) unsafe fn signal_wait_until_idle() {
    // A handler that has found its signal wanted may have to say so yet.
    while SIG.delivering.load(Ordering::SeqCst) != 0 || SIG.state.load(Ordering::SeqCst) != SIG_RECEIVING {
        // SAFETY: the caller's.
        unsafe { gosched() }
    }
}

/// From here on a signal can be received. One caller at a time, as for the next two. Go's `signal_enable`.
pub(crate) fn signal_enable(sig: c_int) -> io::Result<()> {
    SIG.wanted.fetch_or(bit(sig), Ordering::SeqCst);
    SIG.ignored.fetch_and(!bit(sig), Ordering::SeqCst);
    sigenable(sig).inspect_err(|_| {
        SIG.wanted.fetch_and(!bit(sig), Ordering::SeqCst);
    })
}

/// A signal does again what it did before it was first enabled or ignored. Go's `signal_disable`.
pub(crate) fn signal_disable(sig: c_int) {
    // First: a handler that finds it wanted no more lets it come again.
    sigdisable(sig);
    SIG.wanted.fetch_and(!bit(sig), Ordering::SeqCst);
    SIG.ignored.fetch_and(!bit(sig), Ordering::SeqCst);
}

/// A signal does nothing. Go's `signal_ignore`.
pub(crate) fn signal_ignore(sig: c_int) -> io::Result<()> {
    sigignore(sig)?;
    SIG.wanted.fetch_and(!bit(sig), Ordering::SeqCst);
    SIG.ignored.fetch_or(bit(sig), Ordering::SeqCst);
    Ok(())
}

/// Whether the program ignores a signal. Go's `signal_ignored`.
pub(crate) fn signal_ignored(sig: c_int) -> bool {
    SIG.ignored.load(Ordering::SeqCst) & bit(sig) != 0
}
