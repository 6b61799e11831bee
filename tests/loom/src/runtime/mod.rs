//! The rooms that have something to check, or are used by it, and what the faces use of them.

mod arch;
mod base;
mod data;
mod embed;
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

pub(crate) use data::atomic;
pub(crate) use sched::must_wait::must_wait;
#[cfg(test)]
pub(crate) use sema::notify_list::notify_list_wait;
pub(crate) use sema::notify_list::{NotifyList, notify_list_add, notify_list_notify_all};
pub(crate) use sema::sema::{semacquire, semrelease};
