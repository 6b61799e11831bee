//! The rooms that are checked, or used by checked ones.

mod arch;
mod base;
mod data;
mod explore;
mod kernel;
mod lock;
mod m;
mod netpoll;
mod p;
mod sched;
mod stdpark;
mod time;
