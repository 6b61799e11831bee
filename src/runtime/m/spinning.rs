//! Spinning M's, and how they are counted. Only this file writes `m.spinning` and
//! `sched.nmspinning`.
//!
//! `sched/wake.rs` says what spinning is for, and what the orderings pair with.

use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::getm;
use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::runtime2::{M, sched};

/// One count in `sched.nmspinning` that no M has yet. Its owner wakes an M and gives the count to
/// that M, or uncounts it.
#[must_use]
pub(in crate::runtime) struct Spinning(());

impl Spinning {
    /// Counts one if no M spins, so that one thread at a time wakes an M.
    #[inline]
    pub(in crate::runtime) fn first() -> Option<Self> {
        // SeqCst: see `Schedt::nmspinning`.
        let first = sched().nmspinning.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        first.then_some(Spinning(()))
    }

    /// Lets `mp`, which is about to be woken with a P, spin.
    #[inline]
    pub(super) fn give(self, mp: &M) {
        mp.spinning.set(true);
    }

    /// Returns the function that a new M runs first, to take over this count.
    #[inline]
    pub(super) fn start(&self) -> fn() {
        mspinning
    }

    /// Takes the count back: no M spins with it after all.
    #[inline]
    pub(in crate::runtime) fn uncount(self) {
        // SeqCst: the caller looks at the queues next. See `Schedt::nmspinning`.
        if sched().nmspinning.fetch_sub(1, Ordering::SeqCst) <= 0 {
            throw("negative nmspinning");
        }
    }
}

/// The first function of a new M that its maker has counted as spinning. Go's `mspinning`.
fn mspinning() {
    Spinning(()).give(getm());
}

impl M {
    /// Counts this M, which looks for work with a P, as spinning. Go's `becomeSpinning`.
    pub(in crate::runtime) fn become_spinning(&self) {
        self.spinning.set(true);
        // SeqCst: see `Schedt::nmspinning` and `Schedt::needspinning`.
        sched().nmspinning.fetch_add(1, Ordering::SeqCst);
        sched().needspinning.store(0, Ordering::SeqCst);
    }

    /// Ends the spinning of this M, and uncounts it.
    pub(in crate::runtime) fn stop_spinning(&self) {
        self.spinning.set(false);
        Spinning(()).uncount();
    }
}
