//! Processors: the P's of M's, their run queues, and their timers. A part of Go's `proc.go`.
//!
//! A P is the right to run goroutines; there are GOMAXPROCS of them. A P's tail of the run queue,
//! its free lists and its caches are its owner's alone. The owner is the M in `p.m`; of an idle P,
//! the thread that holds `sched.lock`; in a stopped world, the stopper.
//!
//! - `sched.lock` protects the list of idle P's and the global queue. Their lengths, and the bits
//!   of the two masks, are read without it, as a hint.
//! - A run queue is filled by its owner and emptied by anyone. Functions of a `Local` are for the
//!   owner, and functions of a `Steal` for everybody.
//! - The table of P's is replaced and never changed, with the world stopped. An M that has let its
//!   P go keeps the table that it read before: Go takes snapshots of `allp` for that.
//! - Taking a P off the idle list wakes sysmon, if that sleeps because no P was in use.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `acquire.rs` | `acquirep`, `wirep`, `releasep` |
//! | `idle.rs` | `pidleput`, `pidleget`, `pidlegetSpinning`, `updateTimerPMask` |
//! | `runq.rs` | `Local` and `Steal`, the ends of a run queue; `runqput`, `runqget`, `runqgrab`, `runqsteal`, `runqdrain` |
//! | `globrunq.rs` | `globrunqput`, `globrunqputhead`, `globrunqputbatch`, `globrunqget` |
//! | `procs.rs` | `procs`, Go's table of all P's; `gomaxprocs`, `allpLock`; `timeSleepUntil` |
//! | `pmask.rs` | `pMask.read`, `pMask.set`, `pMask.clear`: one bit per P |
//! | `steal_order.rs` | `randomOrder`, `randomEnum`: the order in which a thief visits the P's |
//! | `stop.rs` | `preemptall`, `runSafePointFn`; a P that was asked to stop, and counting those that have |
//! | `forked.rs` | `end_if_forked`: the P of a forked child runs no other goroutine |
//! | `sysmon_sleep.rs` | sysmon's sleep, and waking it |
//! | `gcount.rs` | `gcount` |
//! | `purge.rs` | emptying the lists of a P that isn't in use |
//! | `timers/` | a P's timers: the bottom half of Go's `time.go` |

pub(super) mod acquire;
pub(super) mod forked;
pub(super) mod gcount;
pub(super) mod globrunq;
pub(super) mod idle;
pub(super) mod pmask;
pub(super) mod procs;
pub(super) mod purge;
pub(super) mod runq;
pub(super) mod steal_order;
pub(super) mod stop;
pub(super) mod sysmon_sleep;
pub(super) mod timers;
