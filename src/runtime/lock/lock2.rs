//! The mutex, with the M that holds it counted, and no check of its rank: Go's `lock2` and `unlock2`.

use crate::runtime::base::fatal::throw;
use crate::runtime::data::runtime2::{M, Mutex};

/// [`lock`](super::lock) without the check of the rank. Go's `lock2`.
#[inline(always)]
pub(super) fn lock2(mp: Option<&'static M>, l: &Mutex) {
    if let Some(mp) = mp {
        mp.locks.set(mp.locks.get() + 1);
    }
    l.key.lock();
}

/// [`unlock`](super::unlock) without the rank's bookkeeping. Go's `unlock2`.
#[inline(always)]
pub(super) fn unlock2(mp: Option<&'static M>, l: &Mutex) {
    l.key.unlock();
    if let Some(mp) = mp {
        let locks = mp.locks.get() - 1;
        if locks < 0 {
            throw("runtime·unlock: lock count");
        }
        mp.locks.set(locks);
    }
}
