//! Which thread an M has, and whether a signal is on its way to it: for who asks its goroutine to stop.
//!
//! One signal at a time: who finds none on its way says that there is one, and sends it to the thread that
//! the M has. That says so when the signal has come. An M may get another thread when its own has ended, and
//! what was sent to the old one doesn't come then: so there is none on its way to a new one, either.
//!
//! A signal that went to no thread, or to an old one, would be on its way for ever. So who finds that there
//! is none knows the thread's id: it is written before both, and each of them is a release.

use crate::atomic::Ordering;
use crate::runtime2::M;

impl M {
    /// This thread, whose id is `procid`, is the M's. Part of Go's `minit`.
    pub(crate) fn has_thread(&self, procid: u64) {
        self.procid.store(procid, Ordering::Relaxed);
        self.signal_pending.store(0, Ordering::Release);
    }

    /// The M's thread, this one, isn't its any more. Part of Go's `unminit`.
    pub(crate) fn has_no_thread(&self) {
        self.procid.store(0, Ordering::Relaxed);
    }

    /// A signal is going to be sent, unless one is on its way; returns the thread to send it to. Part of Go's
    /// `preemptM`.
    pub(crate) fn send_signal(&self) -> Option<u64> {
        // Acquire pairs with the other two.
        self.signal_pending.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).ok()?;
        Some(self.procid.load(Ordering::Relaxed))
    }

    /// The signal has come, on the M's thread. Part of Go's `doSigPreempt`.
    pub(crate) fn signal_has_come(&self) {
        self.preempt_gen.fetch_add(1, Ordering::Relaxed);
        self.signal_pending.store(0, Ordering::Release);
    }
}
