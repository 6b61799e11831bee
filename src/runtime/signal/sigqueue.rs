//! The queue from the signal handler to the goroutine that receives signals, and which signals go
//! through it: Go's `sigqueue.go`. Also Go's `sigenable`, `sigdisable` and `sigignore`, which set
//! the actions of these signals, and restore the former ones.
//!
//! A handler may run at any instruction, so it can't allocate, lock, or ready a goroutine.
//! [`sigsend`] only sets the signal's bit in `mask`, and wakes the one receiver if it sleeps. If
//! the bit is set already, there is nothing to do, so a burst coalesces. No signal is lost, because
//! the receiver clears a bit before it acts on the signal.
//!
//! `state` says whether the receiver sleeps:
//!
//! ```text
//!     state        meaning                      sigsend makes it           signal_recv makes it
//!     idle         it runs                      sending                    receiving, and sleeps
//!     sending      it is to look at mask again  (nothing to do)            idle, and looks
//!     receiving    it sleeps on the note        idle, and wakes the note
//! ```
//!
//! The handler sets a bit in `mask` and then looks at `state`; the receiver changes `state` and
//! then looks at `mask`. All of it is sequentially consistent, so one of the two sees what the
//! other has done. `loom` checks this on this file (`tests/loom`).

use std::ffi::c_int;
use std::io;
use std::sync::{Mutex, MutexGuard};

use crate::runtime::base::fatal::throw;
use crate::runtime::data::atomic::{AtomicU32, AtomicU64, Cell, Ordering};
use crate::runtime::data::runtime2::Note;
use crate::runtime::lock::note::{noteclear, notewakeup};
use crate::runtime::sched::entersyscall::notetsleepg;
use crate::runtime::sched::park::gosched;
use crate::runtime::signal::handler::{getsig, is_handled, our_action, setsig};

/// The queue. A set of signals has a bit for each, as the kernel's sets have. Go's `sig`.
struct Sig {
    /// The receiver sleeps on it.
    note: Note,
    /// The signals that have come and that the receiver hasn't taken yet.
    // SeqCst: pairs with `state`, as the table above says.
    mask: AtomicU64,
    /// The signals that are to be received. One goroutine at a time writes this and `ignored`.
    // SeqCst: pairs with `delivering`. A handler counts itself there, and then reads this.
    // `signal_disable` clears a bit here before `signal_wait_until_idle` reads the count. So either
    // the handler finds the signal not wanted, or its delivery is waited for.
    wanted: AtomicU64,
    /// The signals that the program ignores.
    // SeqCst, as in Go, but nothing else is ordered by it.
    ignored: AtomicU64,
    /// The signals that the receiver has taken and not returned yet.
    recv: Cell<u64>,
    /// What the receiver does.
    // SeqCst: pairs with `mask`.
    state: AtomicU32,
    /// How many handlers are in [`sigsend`].
    // SeqCst: pairs with `wanted`.
    delivering: AtomicU32,
}

// SAFETY: only the receiver uses `recv`, and there is one.
unsafe impl Sync for Sig {}

static SIG: Sig = Sig {
    note: Note { key: AtomicU32::new(0) },
    mask: AtomicU64::new(0),
    wanted: AtomicU64::new(0),
    ignored: AtomicU64::new(0),
    recv: Cell::new(0),
    state: AtomicU32::new(SIG_IDLE),
    delivering: AtomicU32::new(0),
};

const SIG_IDLE: u32 = 0;
const SIG_RECEIVING: u32 = 1;
const SIG_SENDING: u32 = 2;

/// The bit of a signal: 1 is the lowest, 64 the highest.
pub(crate) fn bit(sig: c_int) -> u64 {
    1 << (sig - 1)
}

/// Changes the state, if it is as expected.
fn cas(old: u32, new: u32) -> bool {
    // SeqCst: see `Sig::state`.
    SIG.state.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

/// Queues a signal that has come, if it is wanted, and returns whether it is. Called in the
/// signal's handler. Go's `sigsend`.
pub(super) fn sigsend(sig: c_int) -> bool {
    // SeqCst: see the fields of `Sig`. The bit is set before tell_receiver looks at `state`.
    SIG.delivering.fetch_add(1, Ordering::SeqCst);
    let wanted = SIG.wanted.load(Ordering::SeqCst) & bit(sig) != 0;
    if wanted && SIG.mask.fetch_or(bit(sig), Ordering::SeqCst) & bit(sig) == 0 {
        tell_receiver();
    }
    SIG.delivering.fetch_sub(1, Ordering::SeqCst);
    wanted
}

/// Tells the receiver that a bit of `mask` was set: wakes the receiver, or makes it look again.
fn tell_receiver() {
    loop {
        // SeqCst: see `Sig::state`.
        match SIG.state.load(Ordering::SeqCst) {
            SIG_IDLE if cas(SIG_IDLE, SIG_SENDING) => return,
            SIG_RECEIVING if cas(SIG_RECEIVING, SIG_IDLE) => return notewakeup(&SIG.note),
            SIG_SENDING => return,
            SIG_IDLE | SIG_RECEIVING => {}
            _ => throw("sigsend: inconsistent state"),
        }
    }
}

/// Returns the next signal that has come. If there is none, waits for one, and blocks its thread
/// meanwhile. Go's `signal_recv`.
///
/// # Safety
/// On a goroutine, always the same one, which holds no runtime lock. Nothing obtained from a
/// thread-local is kept across this.
pub(crate) unsafe fn signal_recv() -> c_int {
    while SIG.recv.get() == 0 {
        // SAFETY: wait_for_sender has the same conditions as this, and the caller keeps them.
        unsafe { wait_for_sender() };
        // SeqCst: after the change of `state`, see `Sig::mask`.
        SIG.recv.set(SIG.mask.swap(0, Ordering::SeqCst));
    }
    let all = SIG.recv.get();
    SIG.recv.set(all & (all - 1));
    all.trailing_zeros() as c_int + 1
}

/// Waits until there may be a signal in `mask`.
///
/// # Safety
/// As [`signal_recv`].
unsafe fn wait_for_sender() {
    loop {
        // SeqCst: see `Sig::state`.
        match SIG.state.load(Ordering::SeqCst) {
            SIG_IDLE if cas(SIG_IDLE, SIG_RECEIVING) => {
                // SAFETY: on a goroutine that holds no lock and keeps nothing from a thread-local,
                // as the caller says. The handler that ends this state wakes the note, once.
                unsafe { notetsleepg(&SIG.note, -1) };
                return noteclear(&SIG.note);
            }
            SIG_SENDING if cas(SIG_SENDING, SIG_IDLE) => return,
            SIG_IDLE | SIG_SENDING => {}
            _ => throw("signal_recv: inconsistent state"),
        }
    }
}

/// Waits until the receiver has acted on all signals that have come. Signals that were disabled
/// before this call don't come after it. Go's `signalWaitUntilIdle`.
///
/// # Safety
/// To be called on a goroutine that isn't the receiver, while there is one. Nothing obtained from a
/// thread-local is kept across this.
pub(crate) unsafe fn signal_wait_until_idle() {
    // A handler that has found its signal wanted may not have set its bit yet. SeqCst: see
    // `Sig::wanted` and `Sig::mask`.
    while SIG.delivering.load(Ordering::SeqCst) != 0 || SIG.state.load(Ordering::SeqCst) != SIG_RECEIVING {
        // SAFETY: on a goroutine that may park, as the caller says.
        unsafe { gosched() }
    }
}

/// Whether the program ignores a signal. Go's `signal_ignored`.
pub(crate) fn signal_ignored(sig: c_int) -> bool {
    // SeqCst: see `Sig::ignored`.
    (1..=64).contains(&sig) && SIG.ignored.load(Ordering::SeqCst) & bit(sig) != 0
}

/// Returns why no program can ask for a signal, or none if it can.
pub(crate) fn refused(sig: c_int) -> Option<&'static str> {
    match sig {
        libc::SIGKILL | libc::SIGSTOP => Some("the kernel lets nobody catch it"),
        libc::SIGILL | libc::SIGTRAP | libc::SIGBUS | libc::SIGFPE | libc::SIGSEGV | libc::SIGSYS => {
            Some("it says that an instruction has failed, which would fail again")
        }
        _ if sig > libc::SIGSYS && sig < libc::SIGRTMIN() => Some("the C library needs it"),
        _ => None,
    }
}

/// Makes a signal wanted: from now on it is received. Only one thread at a time may call this or
/// the next two functions. Go's `signal_enable`.
pub(crate) fn signal_enable(sig: c_int) -> io::Result<()> {
    // SeqCst: see `Sig::wanted`.
    SIG.wanted.fetch_or(bit(sig), Ordering::SeqCst);
    SIG.ignored.fetch_and(!bit(sig), Ordering::SeqCst);
    sigenable(sig).inspect_err(|_| {
        SIG.wanted.fetch_and(!bit(sig), Ordering::SeqCst);
    })
}

/// Restores the action that a signal had before it was first enabled or ignored. Go's
/// `signal_disable`.
pub(crate) fn signal_disable(sig: c_int) {
    // Restored first: a handler of ours that finds the signal no longer wanted sends it again, and
    // this action is to get it.
    sigdisable(sig);
    // SeqCst: see `Sig::wanted`.
    SIG.wanted.fetch_and(!bit(sig), Ordering::SeqCst);
    SIG.ignored.fetch_and(!bit(sig), Ordering::SeqCst);
}

/// Ignores a signal. Go's `signal_ignore`.
pub(crate) fn signal_ignore(sig: c_int) -> io::Result<()> {
    sigignore(sig)?;
    // SeqCst: see `Sig::wanted`.
    SIG.wanted.fetch_and(!bit(sig), Ordering::SeqCst);
    SIG.ignored.fetch_or(bit(sig), Ordering::SeqCst);
    Ok(())
}

/// The action that each signal had before it was enabled or ignored, indexed by the signal's
/// number. Go's `fwdSig`.
static FORMER: Mutex<Former> = Mutex::new([None; 65]);

type Former = [Option<libc::sigaction>; 65];

fn former() -> MutexGuard<'static, Former> {
    FORMER.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Installs our handler for a signal. Go's `sigenable`.
fn sigenable(sig: c_int) -> io::Result<()> {
    act(sig, our_action())
}

/// Ignores a signal. Go's `sigignore`.
fn sigignore(sig: c_int) -> io::Result<()> {
    // SAFETY: all zero is a valid action.
    let mut nothing: libc::sigaction = unsafe { std::mem::zeroed() };
    nothing.sa_sigaction = libc::SIG_IGN;
    act(sig, nothing)
}

/// Sets the action of a signal, and keeps the former one. Signals that the runtime itself needs
/// stay as they are.
fn act(sig: c_int, action: libc::sigaction) -> io::Result<()> {
    if is_handled(sig) {
        return Ok(());
    }
    let former = &mut former()[sig as usize];
    let before = match *former {
        Some(before) => before,
        None => getsig(sig)?,
    };
    // SAFETY: the action is our handler, which may be called anywhere, or SIG_IGN.
    unsafe { setsig(sig, &action) }?;
    *former = Some(before);
    Ok(())
}

/// Restores the former action of a signal. Go's `sigdisable`.
fn sigdisable(sig: c_int) {
    if let Some(before) = former()[sig as usize].take() {
        // SAFETY: the program's own action, which was in force before. So it can't be refused,
        // either.
        let _restored = unsafe { setsig(sig, &before) };
    }
}
