//! What the thread of an M is asked to do when the signal comes, beyond stopping at a safe point:
//! to let its P go.

use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::runtime2::M;

/// What the goroutine of an M is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(in crate::runtime) enum Asked {
    /// Nothing.
    Nothing = 0,
    /// To go on without its P, because its thread sleeps, or somebody needs all P's.
    Detach = 1,
    /// To go on when its turn comes again, because it has computed for its time slice.
    WaitForTurn = 2,
}

impl M {
    /// Notes what its goroutine is asked for: the one that runs in this time slice of the P, by
    /// [`schedtick`](crate::runtime2::P::schedtick). A signal is to follow.
    pub(in crate::runtime) fn ask(&self, asked: Asked, schedtick: u32) {
        // At worst a signal that is on its way comes too early for this, and it is asked again.
        self.ext.asked_in.store(schedtick, Ordering::Relaxed);
        self.ext.asked.store(asked as u32, Ordering::Release);
    }

    /// What was asked, on the M's own thread; it isn't any more.
    pub(in crate::runtime) fn take_asked(&self) -> Asked {
        match self.ext.asked.swap(0, Ordering::Acquire) {
            0 => Asked::Nothing,
            1 => Asked::Detach,
            _ => Asked::WaitForTurn,
        }
    }
}
