//! Which thread an M has, and whether a preemption signal is on its way there: the part of Go's
//! `minit`, `unminit`, `preemptM` and `doSigPreempt` that they have in common.
//!
//! One signal at a time: a sender that finds `signal_pending` 0 makes it 1, and signals the thread
//! that the M has; the handler there makes it 0 again. An M may get another thread when its own has
//! ended, and a signal that was sent to the old one doesn't come then: so a new thread makes it 0,
//! too.
//!
//! A signal that went to no thread, or to an old one, would be on its way for ever. So a sender
//! that finds the 0 must find the thread's id: that is written before either 0, and each of the two
//! is a release.

use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::runtime2::M;

impl M {
    /// Notes that this thread, whose id is `procid`, is the M's. Part of Go's `minit`.
    pub(in crate::runtime) fn has_thread(&self, procid: u64) {
        self.procid.store(procid, Ordering::Relaxed);
        // Release pairs with send_signal.
        self.signal_pending.store(0, Ordering::Release);
    }

    /// Notes that this thread, the M's, isn't the M's any more. Part of Go's `unminit`.
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

    /// Takes back [`send_signal`](Self::send_signal), for a signal that couldn't be sent: the next
    /// one may be. At worst a thread that has come meanwhile gets two.
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
