//! The chapters of the crate's `proc` that are checked.

#[path = "../../../src/proc/global.rs"]
pub(crate) mod global;
#[path = "../../../src/proc/gqueue.rs"]
pub(crate) mod gqueue;
#[path = "../../../src/proc/order.rs"]
pub(crate) mod order;
#[path = "../../../src/proc/p.rs"]
pub(crate) mod p;
#[path = "../../../src/proc/pmask.rs"]
pub(crate) mod pmask;
#[path = "../../../src/proc/preempt.rs"]
pub(crate) mod preempt;
#[path = "../../../src/proc/procid.rs"]
pub(crate) mod procid;
/// Where P's are made; the other models have theirs from the start.
#[path = "../../../src/proc/procs.rs"]
pub(crate) mod procs_made;
#[path = "../../../src/proc/runq.rs"]
pub(crate) mod runq;
#[path = "../../../src/proc/timers.rs"]
pub(crate) mod timers;
#[path = "../../../src/proc/wake.rs"]
pub(crate) mod wake;

pub(crate) use crate::standin::{
    gosched, hooks, inject, m, procresize, procs, safepoint, startstop, status, syscall, sysmon, trace,
};
