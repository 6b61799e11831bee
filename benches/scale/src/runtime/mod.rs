//! The rooms: files that ship, and stand-ins at the paths of what they stand for.

mod arch;
pub(crate) mod base;
pub(crate) mod data;
mod embed;
mod explore;
pub(crate) mod g;
pub(crate) mod lock;
pub(crate) mod m;
mod mem;
pub(crate) mod netpoll;
pub(crate) mod p;
mod preempt;
pub(crate) mod sched;
pub(crate) mod start;
