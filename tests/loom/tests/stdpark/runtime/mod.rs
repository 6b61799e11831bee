//! The rooms that have something to check, or are used by it.

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
