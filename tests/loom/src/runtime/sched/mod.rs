//! Releasing a P, finding work for it, the poller's part in this, and losing a P.

#[path = "../../../../../src/runtime/sched/detach.rs"]
pub(crate) mod detach;
#[path = "../../../../../src/runtime/sched/entersyscall.rs"]
mod entersyscall_made;
#[cfg(test)]
mod models_asked;
#[cfg(test)]
pub(crate) mod models_detach;
#[cfg(test)]
mod models_polls;
#[cfg(test)]
mod models_timers;
#[cfg(test)]
mod models_turns;
#[cfg(test)]
mod models_wake;
#[path = "../../../../../src/runtime/sched/poll.rs"]
pub(crate) mod poll;
#[path = "../../../../../src/runtime/sched/wake.rs"]
pub(crate) mod wake;

/// Explorations and their points. No model has one.
pub(crate) mod exploration {
    pub(crate) fn explored_number() -> Option<u32> {
        None
    }

    pub(crate) fn point(_what: &str) {}
}

/// The right to wait. Every thread has it.
pub(crate) mod mstart {
    pub(crate) struct Guest;

    pub(crate) fn must_wait(_what: &str) -> Option<Guest> {
        None
    }
}

/// A wait of a thread, which has a G while it waits; and letting others run. Nobody spins before a
/// sleep.
pub(crate) mod park {
    use std::ffi::c_void;

    use loom::sync::{Condvar, Mutex};

    use crate::runtime::data::runtime2::{G, TraceBlockReason, WaitReason};

    loom::lazy_static! {
        /// The goroutines that were made ready and haven't continued yet.
        pub(super) static ref READY: (Mutex<Vec<usize>>, Condvar) = (Mutex::default(), Condvar::new());
    }

    type Unlockf = unsafe extern "C" fn(*mut G, *mut c_void) -> bool;

    pub(crate) unsafe fn gopark(
        unlockf: Option<Unlockf>,
        lock: *mut c_void,
        _reason: WaitReason,
        _trace_reason: TraceBlockReason,
        _traceskip: i32,
    ) {
        let gp = G::new(0);
        let place = std::ptr::from_ref(gp).cast_mut();
        // SAFETY: the G waits, and isn't made ready before this returns.
        if unlockf.is_some_and(|unlockf| unsafe { unlockf(place, lock) }) {
            let (ready, changed) = &*READY;
            let mut held = ready.lock().unwrap();
            while !held.contains(&place.addr()) {
                held = changed.wait(held).unwrap();
            }
            held.retain(|&one| one != place.addr());
        }
    }

    pub(crate) unsafe fn gosched() {
        loom::thread::yield_now();
    }

    pub(crate) fn can_spin(_: u32) -> bool {
        false
    }

    pub(crate) fn do_spin() {
        unreachable!("nobody spins")
    }
}

/// The choice of the next goroutine: a model makes it. A user's goroutines may run.
pub(crate) mod schedule {
    use crate::runtime::data::runtime2::{G, M};

    pub(crate) fn dropg(_: &M, _: &G) {}

    pub(crate) unsafe fn execute(_: &M, _: &G, _inherit_time: bool) -> ! {
        unreachable!("no model runs a goroutine")
    }

    pub(crate) unsafe fn schedule(_: &M) -> ! {
        unreachable!("no model runs a goroutine")
    }

    pub(crate) fn sched_enabled(_: &G) -> bool {
        true
    }

    pub(crate) fn user_disabled() -> bool {
        false
    }
}

/// Goroutines from the network, which no model has; and goroutines that have waited.
pub(crate) mod ready {
    use crate::runtime::data::gqueue::GList;
    use crate::runtime::data::runtime2::G;
    use crate::runtime::sched::park::READY;

    pub(crate) fn goready(gp: &G) {
        // SAFETY: the goroutine waits, and no longer touches the payload. loom fails if nothing
        // orders the accesses.
        gp.payload.with_mut(|payload| unsafe { *payload += 1 });
        let (ready, changed) = &*READY;
        ready.lock().unwrap().push(std::ptr::from_ref(gp).addr());
        changed.notify_all();
    }

    /// No model looks for the goroutines of a list.
    pub(crate) fn injectglist(_: &GList) {}
}

/// System calls as they ship. A thread may sleep in one here without a goroutine.
pub(crate) mod entersyscall {
    pub(crate) use super::entersyscall_made::*;

    use crate::runtime::data::runtime2::Note;
    use crate::runtime::lock::note::notetsleep_internal;

    pub(crate) unsafe fn notetsleepg(n: &Note, ns: i64) -> bool {
        notetsleep_internal(n, ns, None)
    }
}
