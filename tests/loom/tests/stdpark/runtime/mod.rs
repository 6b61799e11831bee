//! The rooms that have something to check, or are used by it.

mod arch;
mod base;
mod data;
mod explore;
mod lock;
mod m;
mod p;
mod sched;
mod stdpark;
mod time;
