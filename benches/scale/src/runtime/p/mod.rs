//! P's as they ship, with their queues and the lists of idle ones; and stand-ins for timers, stops
//! and sysmon.

#[path = "../../../../../src/runtime/p/owner.rs"]
pub(crate) mod owner;
#[path = "../../../../../src/runtime/p/procs.rs"]
pub(crate) mod procs;
#[path = "../../../../../src/runtime/p/runq.rs"]
pub(crate) mod runq;
pub(crate) mod timer_heap;

/// The world isn't stopped, and no process is a child of `fork`.
pub(crate) mod stop {
    use crate::runtime::data::atomic::Ordering;
    use crate::runtime::data::runtime2::{P, sched};

    pub(crate) fn asked_to_stop(_: &P) -> bool {
        sched().gcwaiting.load(Ordering::SeqCst)
    }

    pub(crate) fn run_safe_point_fn(_: &P) {}

    pub(crate) fn end_if_forked(_: &P) {}
}

/// There is no sysmon.
pub(crate) mod sysmon_sleep {
    pub(crate) fn wake_sysmon() {}
}
