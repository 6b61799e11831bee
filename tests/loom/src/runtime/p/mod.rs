//! P's: their owners, queues, lists and timers. There are three, except where a model makes them.

mod models_procs;
mod models_runq;
mod models_sysmon_sleep;
mod models_timer_heap;
#[path = "../../../../../src/runtime/p/owner.rs"]
pub(crate) mod owner;
pub(crate) mod procs;
/// The module that makes P's. The other models have theirs from the start.
#[path = "../../../../../src/runtime/p/procs.rs"]
mod procs_made;
#[path = "../../../../../src/runtime/p/runq.rs"]
pub(crate) mod runq;
#[path = "../../../../../src/runtime/p/stop.rs"]
pub(crate) mod stop;
/// The module in which sysmon sleeps. In the other models it never does.
#[path = "../../../../../src/runtime/p/sysmon_sleep.rs"]
mod sysmon_asleep;
pub(crate) mod sysmon_sleep;
#[path = "../../../../../src/runtime/p/timer.rs"]
pub(crate) mod timer;
#[path = "../../../../../src/runtime/p/timer_heap.rs"]
pub(crate) mod timer_heap;
