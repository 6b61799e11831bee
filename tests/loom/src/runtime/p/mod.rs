//! P's: their owners, queues, lists and timers. There are three, except where a model makes them.

#[path = "../../../../../src/runtime/p/acquire.rs"]
pub(crate) mod acquire;
#[path = "../../../../../src/runtime/p/globrunq.rs"]
pub(crate) mod globrunq;
#[path = "../../../../../src/runtime/p/idle.rs"]
pub(crate) mod idle;
#[cfg(test)]
mod models_procs;
#[cfg(test)]
mod models_runq;
#[cfg(test)]
mod models_sysmon_sleep;
#[path = "../../../../../src/runtime/p/pmask.rs"]
pub(crate) mod pmask;
pub(crate) mod procs;
/// The module that makes P's. The other models have theirs from the start.
#[path = "../../../../../src/runtime/p/procs.rs"]
mod procs_made;
#[path = "../../../../../src/runtime/p/runq.rs"]
pub(crate) mod runq;
#[path = "../../../../../src/runtime/p/steal_order.rs"]
pub(crate) mod steal_order;
#[path = "../../../../../src/runtime/p/stop.rs"]
pub(crate) mod stop;
/// The module in which sysmon sleeps. In the other models it never does.
#[path = "../../../../../src/runtime/p/sysmon_sleep.rs"]
mod sysmon_asleep;
pub(crate) mod sysmon_sleep;
pub(crate) mod timers;
