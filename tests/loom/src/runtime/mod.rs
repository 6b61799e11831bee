//! The rooms that are checked, or used by checked ones, and the exports for the faces.

mod arch;
mod base;
mod chan;
#[path = "../../../../src/runtime/data/mod.rs"]
mod data;
#[path = "../../../../src/runtime/embed/mod.rs"]
mod embed;
mod explore;
mod g;
mod kernel;
mod lock;
mod m;
mod made;
mod mem;
pub(crate) mod netpoll;
mod p;
#[path = "../../../../src/runtime/pollwait.rs"]
mod pollwait;
mod preempt;
mod prof;
mod sched;
mod sema;
mod signal;
mod stdpark;
mod threads;
mod time;
mod world;

pub(crate) use base::fatal::{throw, throw as fatal};
pub(crate) use base::os::nanotime as now;
pub(crate) use base::os::pass_time;
pub(crate) use base::this::on_goroutine;
pub(crate) use data::{atomic, runtime2};
pub(crate) use g::extent::{end_with_run, in_run, outside_of_run, set_over, unwind_to_run};
pub(crate) use lock::{lock, unlock};
pub(crate) use netpoll::poll_desc::{Mode, PollDesc, PollError};
pub(crate) use pollwait::*;
pub(crate) use sched::exploration::{explored_number, point};
pub(crate) use sched::mstart::{must_run, must_wait};
pub(crate) use sched::park::{can_spin, do_spin};
pub(crate) use sched::ready::goready;
pub(crate) use sema::Parker;
pub(crate) use sema::notify_list::notify_list_wait;
pub(crate) use sema::notify_list::{NotifyList, notify_list_add, notify_list_notify_all};
pub(crate) use sema::of_mutex::{
    Limit, cansemacquire, gosched, semacquire, semacquire_limited, semacquire1, semrelease, semrelease1,
};
pub(crate) use sema::of_mutex::{limit_comes, limit_is_an_abort, nothing_is_released};
pub(crate) use time::in_run::with_limit_in_run;
pub(crate) use time::sleep::{nanos, until};
