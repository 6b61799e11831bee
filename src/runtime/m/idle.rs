//! The list of idle M's, under `sched.lock`: Go's `mput` and `mget`.

use crate::runtime::data::runtime2::{M, sched};
use crate::runtime::lock::assert_lock_held;
use crate::runtime::m::checkdead::checkdead;

/// Puts `mp` on the idle list, and checks for a deadlock. `sched.lock` is held. Go's
/// `mput`.
pub(super) fn mput(mp: &'static M) {
    assert_lock_held(&sched().lock);
    mp.schedlink.set(sched().midle.get());
    sched().midle.set(Some(mp));
    sched().nmidle.set(sched().nmidle.get() + 1);
    checkdead();
}

/// Takes an idle M, if there is one. `sched.lock` is held. Go's `mget`.
pub(in crate::runtime) fn mget() -> Option<&'static M> {
    assert_lock_held(&sched().lock);
    let mp = sched().midle.get()?;
    sched().midle.set(mp.schedlink.get());
    sched().nmidle.set(sched().nmidle.get() - 1);
    Some(mp)
}
