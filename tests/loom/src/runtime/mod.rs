//! The rooms that are checked, or used by checked ones, and the exports for the faces.

mod arch;
mod base;
mod chan;
mod data;
mod embed;
mod explore;
mod g;
mod lock;
mod m;
mod mem;
mod netpoll;
mod p;
mod preempt;
mod sched;
mod sema;
mod signal;
mod time;
mod world;

pub(crate) use base::fatal::{throw, throw as fatal};
pub(crate) use base::os::nanotime as now;
#[cfg(test)]
pub(crate) use base::os::pass_time;
pub(crate) use data::{atomic, runtime2};
pub(crate) use sched::exploration::point;
pub(crate) use sched::mstart::must_wait;
pub(crate) use sched::park::{can_spin, do_spin};
#[cfg(test)]
pub(crate) use sema::notify_list::notify_list_wait;
pub(crate) use sema::notify_list::{NotifyList, notify_list_add, notify_list_notify_all};
pub(crate) use sema::of_mutex::{
    Limit, cansemacquire, gosched, semacquire_limited, semacquire1, semrelease1,
};
#[cfg(test)]
pub(crate) use sema::of_mutex::{limit_comes, nothing_is_released};
pub(crate) use sema::sema::{semacquire, semrelease};
