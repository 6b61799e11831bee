//! Stopping the world, and starting it.

#[path = "../../../../../src/runtime/world/stw.rs"]
pub(crate) mod stw;

/// A stand-in: the number of P's never changes, and none has work of its own.
pub(crate) mod procresize {
    use std::ptr;

    use crate::runtime::base::this::this_m;
    use crate::runtime::data::atomic::Ordering;
    use crate::runtime::data::runtime2::{P, PIDLE, PRUNNING};
    use crate::runtime::p::owner::pidleput;
    use crate::runtime::p::procs::procs;

    pub(crate) fn procresize(_: i32) -> Option<&'static P> {
        let mine = this_m().and_then(|mp| mp.p());
        for &pp in &procs().allp {
            if mine.is_some_and(|mine| ptr::eq(mine, pp)) {
                pp.status.store(PRUNNING, Ordering::Relaxed);
            } else {
                pp.status.store(PIDLE, Ordering::Relaxed);
                pidleput(pp);
            }
        }
        None
    }
}
