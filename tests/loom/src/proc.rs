//! The chapters of the crate's `proc` that are checked.

#[path = "../../../src/proc/global.rs"]
pub(crate) mod global;
#[path = "../../../src/proc/gqueue.rs"]
pub(crate) mod gqueue;
#[path = "../../../src/proc/pmask.rs"]
pub(crate) mod pmask;
#[path = "../../../src/proc/runq.rs"]
pub(crate) mod runq;
#[path = "../../../src/proc/wake.rs"]
pub(crate) mod wake;

pub(crate) use crate::standin::{p, procs, safepoint, startstop, sysmon, timers};
