//! Releasing a P, finding work for it, the poller's part in this, and losing a P.

#[path = "../../../../../src/runtime/sched/abort.rs"]
pub(crate) mod abort;
#[path = "../../../../../src/runtime/sched/detach.rs"]
pub(crate) mod detach;
#[path = "../../../../../src/runtime/sched/entersyscall.rs"]
mod entersyscall_made;
mod models_abort;
mod models_asked;
pub(crate) mod models_detach;
mod models_polls;
mod models_timers;
mod models_turns;
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

    pub(crate) fn chooses() -> bool {
        false
    }
}

/// The end of a goroutine, to which no model comes.
pub(crate) mod goexit {
    use crate::runtime::data::runtime2::G;

    pub(crate) fn ended(_: &G) -> bool {
        false
    }
}

/// The right to wait. Every thread has it.
pub(crate) mod mstart {
    pub(crate) struct Guest;

    pub(crate) fn must_wait(_what: &str) -> Option<Guest> {
        None
    }

    pub(crate) fn must_run(_what: &str) -> Option<Guest> {
        None
    }
}

/// A goroutine that parks is a thread that sleeps. Nobody spins before a sleep.
pub(crate) mod park {
    use std::ffi::c_void;

    use crate::runtime::data::runtime2::{G, M, Mutex, TraceBlockReason, Unlockf, WaitReason};
    use crate::runtime::lock::unlock;
    use crate::runtime::made::Made;

    thread_local! {
        /// Whether each goroutine was made ready.
        pub(super) static READY: Made<G, bool> = const { Made::new() };
    }

    pub(crate) fn begin_run() {
        READY.with(Made::begin_run);
    }

    pub(crate) unsafe fn gopark(
        unlockf: Option<Unlockf>,
        lock: *mut c_void,
        reason: WaitReason,
        _: TraceBlockReason,
        _: i32,
    ) {
        let gp = G::this();
        gp.waitreason.set(reason);
        // SAFETY: the caller's.
        if unlockf.is_none_or(|unlockf| unsafe { unlockf(gp.as_ptr(), lock) }) {
            sleep_until_ready(gp);
        } else {
            gp.waitreason.set(WaitReason::Zero);
        }
    }

    pub(crate) fn goparkunlock(lock: &Mutex, reason: WaitReason, _: TraceBlockReason, _: i32) {
        let gp = G::this();
        gp.waitreason.set(reason);
        unlock(lock);
        sleep_until_ready(gp);
    }

    pub(crate) fn sleep_until_ready(gp: &G) {
        let ready = READY.with(|ready| ready.of(gp));
        let mut held = ready.0.lock().unwrap();
        while !*held {
            held = ready.1.wait(held).unwrap();
        }
        *held = false;
    }

    pub(crate) unsafe fn gopark_on(
        _: &G,
        _: &M,
        unlockf: Option<Unlockf>,
        lock: *mut c_void,
        reason: WaitReason,
        trace_reason: TraceBlockReason,
        skip: i32,
    ) {
        // SAFETY: the caller's.
        unsafe { gopark(unlockf, lock, reason, trace_reason, skip) }
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
    use crate::runtime::data::gqueue::{GList, GQueue};
    use crate::runtime::data::runtime2::{G, WaitReason};
    use crate::runtime::sched::park::READY;

    /// Nothing but the wait orders the accesses to the reason: loom fails if the goroutine isn't
    /// off its stack.
    pub(crate) fn goready(gp: &G) {
        assert_ne!(gp.waitreason.replace(WaitReason::Zero), WaitReason::Zero, "it doesn't wait");
        let ready = READY.with(|ready| ready.of(gp));
        assert!(!std::mem::replace(&mut *ready.0.lock().unwrap(), true), "made ready twice");
        ready.1.notify_one();
    }

    /// The models have no queues, so no goroutine is the last.
    pub(crate) fn ready_last(q: &GQueue, _n: i32) {
        while let Some(gp) = q.pop() {
            goready(gp);
        }
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
