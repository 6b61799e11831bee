//! Stand-ins: the states of G's, and the lists of dead G's from which new ones come: one list for
//! each P and one for all.

/// A P with this number of dead G's gives half of them away. A P with none takes half of this
/// number.
const LOCAL_MAX: usize = 64;

pub(crate) mod status {
    use std::sync::atomic::Ordering::Relaxed;

    use crate::runtime::base::fatal::throw;
    use crate::runtime::data::atomic::Ordering;
    use crate::runtime::data::runtime2::{G, GRUNNING};

    pub(crate) fn casgstatus(gp: &G, old: u32, new: u32) {
        if gp.atomicstatus.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            throw("casgstatus: bad status");
        }
        if old == GRUNNING {
            let left = gp.tracking_seq.load(Relaxed).wrapping_sub(1);
            gp.tracking_seq.store(left, Relaxed);
        }
    }

    pub(crate) fn readgstatus(gp: &G) -> u32 {
        gp.atomicstatus.load(Ordering::SeqCst)
    }

    pub(crate) fn dumpgstatus(_: &G) {}
}

pub(crate) mod explored {
    use crate::runtime::data::runtime2::G;

    pub(crate) fn exploring() -> bool {
        false
    }

    pub(crate) fn note_woken_outside(_: &G) {}
}

pub(crate) mod gfree {
    use super::LOCAL_MAX;
    use crate::runtime::data::runtime2::{G, P, sched};
    use crate::runtime::lock::{lock, unlock};

    /// Go's `gfget`.
    pub(crate) fn gfget(pp: &P) -> &'static G {
        let mut local = pp.g_free.borrow_mut();
        if local.is_empty() && !sched().g_free.list.borrow().is_empty() {
            lock(&sched().g_free.lock);
            let mut common = sched().g_free.list.borrow_mut();
            let kept = common.len().saturating_sub(LOCAL_MAX / 2);
            local.extend(common.drain(kept..));
            drop(common);
            unlock(&sched().g_free.lock);
        }
        local.pop().unwrap_or_else(G::new)
    }

    /// Go's `gfput`.
    pub(crate) fn gfput(pp: &P, gp: &'static G) {
        let mut local = pp.g_free.borrow_mut();
        local.push(gp);
        if local.len() >= LOCAL_MAX {
            lock(&sched().g_free.lock);
            sched().g_free.list.borrow_mut().extend(local.drain(LOCAL_MAX / 2..));
            unlock(&sched().g_free.lock);
        }
    }
}
