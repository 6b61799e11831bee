//! Asking a running goroutine to stop (Go's `preemptone` and `preemptM`), or asking its thread to
//! let its P go.
//!
//! Each M notes which thread it has, and whether a signal is on its way to that thread. These notes
//! are the common part of Go's `minit`, `unminit`, `preemptM` and `doSigPreempt`.
//!
//! There is one signal at a time. A sender that finds 0 in `signal_pending` makes it 1 and signals
//! the M's thread; the handler there makes it 0 again. An M may get another thread when its own has
//! ended. A signal that was sent to the old thread doesn't come then, so the new thread makes it 0,
//! too.
//!
//! A signal that went to no thread, or to an old one, would be on its way forever. So a sender that
//! finds the 0 must also find the thread's id. The id is written before either 0, and both stores
//! of the 0 are releases.

use std::ptr;

use crate::runtime::base::debug::async_preempt_off;
use crate::runtime::base::os::{SIG_PREEMPT, signal_m};
use crate::runtime::base::this::this_m;
use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::runtime2::{G, M, P};
use crate::runtime::mem::morestack_check::poison_stack_limit;
use crate::runtime::mem::sizes::STACK_PREEMPT;

use crate::runtime::preempt::preemptible;

/// How long a goroutine may run before it is asked to stop. Go's `forcePreemptNS`.
pub(in crate::runtime) const FORCE_PREEMPT_NS: i64 = 10 * 1000 * 1000;

/// Asks the goroutine that runs on `pp` to stop. Returns whether a goroutine other than the caller
/// runs there.
///
/// The request is best effort: another goroutine may run there by then, or none, and the request
/// may get lost. A caller that needs the stop asks again. Go's `preemptone`.
pub(in crate::runtime) fn preemptone(pp: &P) -> bool {
    let Some(mp) = other_m(pp) else { return false };
    // Set also if the M is between two goroutines, as an M that switches all the time often is: its
    // time slice ends.
    pp.preempt.store(true, Ordering::Relaxed);
    let Some(gp) = mp.curg.get().filter(|gp| !ptr::eq(*gp, &mp.ext.g0)) else { return false };
    fail_stack_checks(mp, gp);
    preempt_m(mp);
    true
}

/// Returns the M that has `pp`, unless it is this thread's M.
pub(in crate::runtime) fn other_m(pp: &P) -> Option<&'static M> {
    // Acquire pairs with wirep.
    let mp = pp.m.load(Ordering::Acquire)?;
    (!this_m().is_some_and(|mine| ptr::eq(mp, mine))).then_some(mp)
}

/// Makes the stack checks of `gp`, which runs on `mp`, fail.
pub(in crate::runtime) fn fail_stack_checks(mp: &M, gp: &G) {
    gp.preempt.store(true, Ordering::Relaxed);
    gp.stackguard0.store(STACK_PREEMPT, Ordering::Relaxed);
    poison_stack_limit(mp, gp);
}

/// Sends a preemption signal to the thread of `mp`, unless one is on its way, or no code is
/// preemptible. Such a signal might cut a system call of that thread short for nothing. Go's
/// `preemptM`.
pub(in crate::runtime) fn preempt_m(mp: &M) {
    if preemptible::any() {
        send(mp);
    }
}

/// Asks the goroutine of `mp` to do `what`, in a signal handler, if it still runs in time slice
/// `schedtick` or has no P.
pub(in crate::runtime) fn ask_by_signal(mp: &M, what: Asked, schedtick: u32) {
    mp.ask(what, schedtick);
    send(mp);
}

/// Sends the signal, unless one is on its way. A thread that isn't ours gets no signal: it has an M
/// only while it waits for something, and runs no code for long. Also its signal stack, if it has
/// one, may be too small for this CPU's vector registers.
fn send(mp: &M) {
    if async_preempt_off() || mp.isextra.get() {
        return;
    }
    if let Some(thread) = mp.send_signal()
        && !signal_m(thread, SIG_PREEMPT)
    {
        mp.signal_not_sent();
    }
}

/// What the goroutine of an M is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(in crate::runtime) enum Asked {
    /// Nothing.
    Nothing = 0,
    /// To go on without its P, because its thread sleeps, or a stopper needs all P's.
    Detach = 1,
    /// To go on when its turn comes again, because it has computed for its time slice.
    WaitForTurn = 2,
}

impl M {
    /// Notes what the M's goroutine is asked for: the goroutine that runs in the P's time slice
    /// [`schedtick`](crate::runtime2::P::schedtick). The caller then sends a signal.
    pub(in crate::runtime) fn ask(&self, asked: Asked, schedtick: u32) {
        // At worst, a signal that is on its way comes too early to find both, and the goroutine is
        // asked again.
        self.ext.asked_in.store(schedtick, Ordering::Relaxed);
        self.ext.asked.store(asked as u32, Ordering::Release);
    }

    /// Takes back the request and returns it. Called on the M's own thread.
    pub(in crate::runtime) fn take_asked(&self) -> Asked {
        match self.ext.asked.swap(0, Ordering::Acquire) {
            0 => Asked::Nothing,
            1 => Asked::Detach,
            _ => Asked::WaitForTurn,
        }
    }
}

impl M {
    /// Notes that this thread, whose id is `procid`, is the M's. Part of Go's `minit`.
    pub(in crate::runtime) fn has_thread(&self, procid: u64) {
        self.procid.store(procid, Ordering::Relaxed);
        // Release pairs with send_signal.
        self.signal_pending.store(0, Ordering::Release);
    }

    /// Notes that the M has no thread any more. Called on the thread that it had. Part of Go's
    /// `unminit`.
    pub(in crate::runtime) fn has_no_thread(&self) {
        self.procid.store(0, Ordering::Relaxed);
    }

    /// Claims the right to send a signal, unless one is on its way; returns the thread to send it
    /// to. Part of Go's `preemptM`.
    pub(super) fn send_signal(&self) -> Option<u64> {
        // Acquire pairs with has_thread and signal_has_come.
        self.signal_pending.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).ok()?;
        Some(self.procid.load(Ordering::Relaxed))
    }

    /// Takes back [`send_signal`](Self::send_signal), for a signal that couldn't be sent, so that
    /// the next can be. At worst, a thread that the M has got meanwhile gets two signals.
    pub(in crate::runtime) fn signal_not_sent(&self) {
        self.signal_pending.store(0, Ordering::Release);
    }

    /// Notes that the signal has come, on the M's thread. Part of Go's `doSigPreempt`.
    pub(in crate::runtime) fn signal_has_come(&self) {
        self.preempt_gen.fetch_add(1, Ordering::Relaxed);
        // Release pairs with send_signal.
        self.signal_pending.store(0, Ordering::Release);
    }
}
