//! Spinning before a sleep: Go's `sync_runtime_canSpin` and `sync_runtime_doSpin`.

use std::sync::atomic::Ordering;

use crate::runtime::arch::procyield;
use crate::runtime::base::this::getm;
use crate::runtime::data::runtime2::sched;
use crate::runtime::p::procs::gomaxprocs;
use crate::runtime::p::runq::runqempty;

/// How many rounds a waiter spins before it sleeps, and how many pause instructions a round has.
const ACTIVE_SPIN: u32 = 4;
const ACTIVE_SPIN_CNT: u32 = 30;

/// Whether it makes sense to spin: another goroutine is running, which may unlock, and this P has
/// no other to run. Go's `canSpin`.
pub(crate) fn can_spin(iter: u32) -> bool {
    let busy =
        gomaxprocs() - sched().npidle.load(Ordering::Relaxed) - sched().nmspinning.load(Ordering::Relaxed);
    iter < ACTIVE_SPIN && busy > 1 && getm().p.peek().is_some_and(|pp| runqempty(pp.steal()))
}

/// A round of spinning. Go's `doSpin`.
pub(crate) fn do_spin() {
    procyield(ACTIVE_SPIN_CNT);
}
