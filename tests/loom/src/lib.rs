//! The protocol code of gosched under loom: the files that ship, with small stand-ins for what
//! they are used with.
//!
//! | from the crate | checked |
//! | --- | --- |
//! | `lock/key.rs` | mutual exclusion, no sleeper is forgotten |
//! | `proc/runq.rs`, `proc/gqueue.rs`, `proc/global.rs` | every G is taken once, and whole |
//! | `proc/p.rs`, `proc/preempt.rs`, `proc/procid.rs` | who finds the M of a P, and no signal on its way to it, knows its thread |
//! | `proc/procs.rs` | who finds how many P's there are finds them, and whole |
//! | `proc/wake.rs`, `proc/pmask.rs` | work and an idle P never miss each other |
//! | `proc/timers.rs` | a new timer and an M that goes to sleep never miss each other |
//! | `time/timer.rs`, `time/modify.rs`, `time/heap.rs`, `time/adjust.rs`, `time/run.rs` | a timer fires each time that it was set, unless it was stopped; its heap is never late for it |
//! | `sigqueue.rs` | no signal is lost between its handler and who receives it |
//! | `sync/wait_group.rs` | who has waited sees what was done |
//!
//! A stand-in has the names that the shipped files use, and as little behind them as will do:
//! a run queue of four, a scheduler's lock that loom knows.

#![cfg(loom)]
#![allow(dead_code, reason = "the shipped files have more than is modelled")]
#![allow(clippy::reversed_empty_ranges, reason = "the mutex doesn't spin under loom")]

mod atomic;
#[path = "../../../src/link.rs"]
mod link;
mod lock;
mod proc;
mod runtime2;
#[path = "../../../src/sigqueue.rs"]
mod sigqueue;
mod standin;
mod time;
#[path = "../../../src/sync/wait_group.rs"]
mod wait_group;

use standin::{
    arch, debug, netpoll, os, panic, pool, print, rand, sema, sigaction, signal_unix, stack, wait,
};

#[cfg(test)]
mod models_lock;
#[cfg(test)]
mod models_preempt;
#[cfg(test)]
mod models_procs;
#[cfg(test)]
mod models_runq;
#[cfg(test)]
mod models_sigqueue;
#[cfg(test)]
mod models_timer_heap;
#[cfg(test)]
mod models_timers;
#[cfg(test)]
mod models_wait_group;
#[cfg(test)]
mod models_wake;
