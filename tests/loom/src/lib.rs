//! The protocol code of gosched under loom: the files that ship, with small stand-ins for what
//! they are used with.
//!
//! | from the crate | checked |
//! | --- | --- |
//! | `lock/key.rs` | mutual exclusion, no sleeper is forgotten |
//! | `proc/runq.rs`, `proc/gqueue.rs`, `proc/global.rs` | every G is taken once, and whole |
//! | `proc/wake.rs`, `proc/pmask.rs` | work and an idle P never miss each other |
//!
//! A stand-in has the names that the shipped files use, and as little behind them as will do:
//! a run queue of four, a scheduler's lock that loom knows.

#![cfg(loom)]
#![allow(dead_code, reason = "the shipped files have more than is modelled")]
#![allow(clippy::reversed_empty_ranges, reason = "the mutex doesn't spin under loom")]

#[path = "../../../src/atomic.rs"]
mod atomic;
#[path = "../../../src/link.rs"]
mod link;
mod lock;
mod proc;
mod runtime2;
mod standin;

use standin::{debug, os, panic, rand, stack};

#[cfg(test)]
mod models_lock;
#[cfg(test)]
mod models_runq;
#[cfg(test)]
mod models_wake;
