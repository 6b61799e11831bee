//! P's as they ship: their queues, the lists of idle ones; and stand-ins for timers, stops and
//! sysmon.

#[path = "../../../../../src/runtime/p/acquire.rs"]
pub(crate) mod acquire;
#[path = "../../../../../src/runtime/p/globrunq.rs"]
pub(crate) mod globrunq;
#[path = "../../../../../src/runtime/p/idle.rs"]
pub(crate) mod idle;
#[path = "../../../../../src/runtime/p/pmask.rs"]
pub(crate) mod pmask;
#[path = "../../../../../src/runtime/p/procs.rs"]
pub(crate) mod procs;
#[path = "../../../../../src/runtime/p/runq.rs"]
pub(crate) mod runq;
#[path = "../../../../../src/runtime/p/steal_order.rs"]
pub(crate) mod steal_order;
pub(crate) mod timers;

/// The world isn't stopped.
pub(crate) mod stop {
    use crate::runtime::data::atomic::Ordering;
    use crate::runtime::data::runtime2::{P, sched};

    pub(crate) fn asked_to_stop(_: &P) -> bool {
        sched().gcwaiting.load(Ordering::SeqCst)
    }

    pub(crate) fn run_safe_point_fn(_: &P) {}
}

/// There is no sysmon.
pub(crate) mod sysmon_sleep {
    pub(crate) fn wake_sysmon() {}
}
