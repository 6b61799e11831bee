//! The rooms: shipped files, and stand-ins at the paths of the files that they replace.

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
