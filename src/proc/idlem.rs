//! The list of idle M's, under `sched.lock`: Go's `mput` and `mget`.

use crate::lock::assert_lock_held;
use crate::proc::checkdead::checkdead;
use crate::runtime2::{M, sched};

/// Puts `mp` on the idle list, and checks for a deadlock. `sched.lock` is held. Go's
/// `mput`.
pub(crate) fn mput(mp: &'static M) {
    assert_lock_held(&sched().lock);
    mp.schedlink.set(sched().midle.get());
    sched().midle.set(Some(mp));
    sched().nmidle.set(sched().nmidle.get() + 1);
    checkdead();
}

/// Takes an idle M, if there is one. `sched.lock` is held. Go's `mget`.
pub(crate) fn mget() -> Option<&'static M> {
    assert_lock_held(&sched().lock);
    let mp = sched().midle.get()?;
    sched().midle.set(mp.schedlink.get());
    sched().nmidle.set(sched().nmidle.get() - 1);
    Some(mp)
}
