//! The list of idle M's, under `sched.lock`: Go's `mput` and `mget`, and 1.27's `mgetSpecific`.

use crate::runtime::data::runtime2::{M, sched};
use crate::runtime::lock::assert_lock_held;
use crate::runtime::m::checkdead::checkdead;

/// Puts `mp` on the idle list, and checks for a deadlock. `sched.lock` is held. Go's
/// `mput`.
pub(in crate::runtime) fn mput(mp: &'static M) {
    assert_lock_held(&sched().lock);
    let head = sched().midle.get();
    mp.schedlink.set(head);
    mp.ext.idle.set(true);
    head.inspect(|head| head.ext.idle_before.set(Some(mp)));
    sched().midle.set(Some(mp));
    sched().nmidle.set(sched().nmidle.get() + 1);
    checkdead();
}

/// Takes an idle M, if there is one. `sched.lock` is held. Go's `mget`.
pub(in crate::runtime) fn mget() -> Option<&'static M> {
    assert_lock_held(&sched().lock);
    let mp = sched().midle.get()?;
    take(mp);
    Some(mp)
}

/// Takes `mp`, whatever it does by now; none if it isn't idle. `sched.lock` is held. Go's
/// `mgetSpecific`.
pub(in crate::runtime) fn mget_specific(mp: &'static M) -> Option<&'static M> {
    assert_lock_held(&sched().lock);
    if !mp.ext.idle.get() {
        return None;
    }
    take(mp);
    Some(mp)
}

/// Takes `mp` off the idle list.
fn take(mp: &M) {
    let (before, after) = (mp.ext.idle_before.get(), mp.schedlink.get());
    before.map_or(&sched().midle, |before| &before.schedlink).set(after);
    after.inspect(|after| after.ext.idle_before.set(before));
    mp.ext.idle_before.set(None);
    mp.ext.idle.set(false);
    sched().nmidle.set(sched().nmidle.get() - 1);
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::runtime::base::testing::zeroed;
    use crate::runtime::lock::{lock, unlock};

    #[test]
    fn any_may_be_taken_and_the_last_one_is_first() {
        let ms: [&M; 5] = std::array::from_fn(|_| zeroed());
        lock(&sched().lock);
        // More than there are here: no deadlock.
        let mnext = sched().mnext.replace(100);
        let gets = |got: Option<&M>, i: usize| assert!(got.is_some_and(|mp| ptr::eq(mp, ms[i])), "not {i}");
        ms.iter().for_each(|mp| mput(mp));
        for i in [2, 0, 4] {
            gets(mget_specific(ms[i]), i);
            assert!(mget_specific(ms[i]).is_none(), "{i} again");
        }
        assert_eq!(sched().nmidle.get(), 2);
        mput(ms[2]);
        [2, 3, 1].into_iter().for_each(|i| gets(mget(), i));
        assert!(mget().is_none() && mget_specific(ms[1]).is_none());
        assert_eq!(sched().nmidle.get(), 0);
        sched().mnext.set(mnext);
        unlock(&sched().lock);
    }
}
