//! The mutex, with the M that holds it counted, and no check of its rank: Go's `lock2` and
//! `unlock2`.

#[cfg(feature = "std")]
use std::cell::Cell;
use std::mem;

use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::{Held, held, hold, this_m};
use crate::runtime::data::ext::MutexKey;
use crate::runtime::data::runtime2::M;
use crate::runtime::lock::port::PortMutex;

/// [`lock`](super::lock) without the check of the rank. Go's `lock2`.
#[inline(always)]
pub(super) fn lock2(mp: Option<&'static M>, key: &MutexKey) {
    match mp {
        Some(mp) => mem::forget(hold(mp)),
        None => count_foreign(1),
    }
    key.lock();
}

/// [`lock2`], if nobody has the lock; says whether that is so.
pub(super) fn try_lock2(mp: Option<&'static M>, key: &MutexKey) -> bool {
    let held = mp.map(hold);
    let locked = key.try_lock();
    if locked {
        mem::forget(held);
    }
    if locked && mp.is_none() {
        count_foreign(1);
    }
    locked
}

/// [`unlock`](super::unlock) without the rank's bookkeeping; the M keeps its P for as long as the
/// caller wants. Go's `unlock2`.
#[inline(always)]
pub(super) fn unlock2(mp: Option<&'static M>, key: &MutexKey) -> Option<Held> {
    key.unlock();
    if mp.is_none() {
        count_foreign(-1);
    }
    if mp.is_some_and(|mp| mp.locks.get() <= 0) {
        throw("runtime·unlock: lock count");
    }
    mp.map(held)
}

#[cfg(feature = "std")]
thread_local! {
    /// How many locks a thread that isn't ours holds.
    static FOREIGN_LOCKS: Cell<i32> = const { Cell::new(0) };
}

/// How many locks this thread, which isn't ours, holds, or is about to take. In a handler, too.
#[cfg(feature = "std")]
pub(in crate::runtime) fn foreign_locks() -> i32 {
    FOREIGN_LOCKS.get()
}

/// Counts a lock of a thread that isn't ours: one that its signal handler mustn't wait for.
#[inline(always)]
fn count_foreign(_more: i32) {
    #[cfg(feature = "std")]
    FOREIGN_LOCKS.set(FOREIGN_LOCKS.get() + _more);
}

/// Takes a lock of a port's, which has no rank. Go's `lock2`.
pub(crate) fn lock_of_port(l: &PortMutex) {
    if let Some(mp) = this_m() {
        mem::forget(hold(mp));
    }
    l.lock();
}

/// Undoes [`lock_of_port`]. Go's `unlock2`.
pub(crate) fn unlock_of_port(l: &PortMutex) {
    if !l.unlock() {
        throw("unlock of unlocked lock");
    }
    let mp = this_m();
    if mp.is_some_and(|mp| mp.locks.get() <= 0) {
        throw("runtime·unlock: lock count");
    }
    drop(mp.map(held));
}
