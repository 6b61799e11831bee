//! Spinning M's, and how they are counted: `m.spinning` and `sched.nmspinning` are written here
//! alone.
//!
//! What spinning is for, and what the orderings pair with, is in `sched/wake.rs`.

use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::getm;
use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::runtime2::{M, sched};

/// One count in `sched.nmspinning` that no M has yet. Its owner wakes an M and gives the count to
/// that M, or uncounts it.
#[must_use]
pub(in crate::runtime) struct Spinning(());

impl Spinning {
    /// Counts one if nobody spins, so that one thread at a time wakes an M.
    #[inline]
    pub(in crate::runtime) fn first() -> Option<Self> {
        let first = sched().nmspinning.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        first.then_some(Spinning(()))
    }

    /// Lets `mp`, which is about to be woken with a P, spin.
    #[inline]
    pub(super) fn give(self, mp: &M) {
        mp.spinning.set(true);
    }

    /// The function that a new M runs first, to be given this count.
    #[inline]
    pub(super) fn start(&self) -> fn() {
        mspinning
    }

    /// Nobody spins after all.
    #[inline]
    pub(in crate::runtime) fn uncount(self) {
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
    /// Counts this M, which looks for work with a P, among the spinning. Go's `becomeSpinning`.
    pub(in crate::runtime) fn become_spinning(&self) {
        self.spinning.set(true);
        sched().nmspinning.fetch_add(1, Ordering::SeqCst);
        sched().needspinning.store(0, Ordering::SeqCst);
    }

    /// Takes this M, which is spinning, out again.
    pub(in crate::runtime) fn stop_spinning(&self) {
        self.spinning.set(false);
        Spinning(()).uncount();
    }
}
