//! Processors: the P's that M's take, their run queues, and their timers. A part of Go's `proc.go`.
//!
//! A P is the right to run goroutines; there are GOMAXPROCS of them. The tail of a P's run queue,
//! its free lists and its caches belong to the P's owner alone. The owner is the M in `p.m`. An
//! idle P's owner is the thread that holds `sched.lock`, and in a stopped world the stopper owns
//! all P's.
//!
//! - `sched.lock` protects the list of idle P's and the global queue. Their lengths, and the bits
//!   of the two masks, are read without it, as a hint.
//! - A run queue is filled by its owner and emptied by anyone. Functions of a `Local` are for the
//!   owner, and functions of a `Steal` for everybody.
//! - The table of P's is never changed, but replaced, while the world is stopped. An M that has let
//!   its P go keeps the table that it read before, where Go takes snapshots of `allp`.
//! - Taking a P off the idle list wakes sysmon, if sysmon sleeps because no P was in use.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `procs.rs` | `procs`, Go's table of all P's; `gomaxprocs`, `allpLock`; `timeSleepUntil`; `PMask`, one bit per P; `randomOrder`, the order in which a thief visits the P's |
//! | `owner.rs` | `acquirep`, `wirep`, `releasep`; the idle list: `pidleput`, `pidleget`, `pidlegetSpinning`, `updateTimerPMask` |
//! | `runq.rs` | `Local` and `Steal`, the ends of a run queue; `runqput`, `runqget`, `runqgrab`, `runqsteal`, `runqdrain`; the global queue: `globrunqput`, `globrunqputhead`, `globrunqputbatch`, `globrunqget` |
//! | `timer.rs` | a timer's states; `badTimer`; timers from the pool and back |
//! | `timer_heap.rs` | a P's timers: `runtimer`, `nobarrierWakeTime`; `cleantimers`, `adjusttimers`, `clearDeletedTimers`, `moveTimers`; `doaddtimer`, `dodeltimer`, `siftupTimer`, `siftdownTimer` |
//! | `stop.rs` | `preemptall`, `runSafePointFn`; a P that was asked to stop, and counting those that have; `end_if_forked` |
//! | `free_lists.rs` | `gcount`; emptying the lists of a P that isn't in use |
//! | `sysmon_sleep.rs` | sysmon's sleep, and waking it |

pub(super) mod free_lists;
pub(super) mod owner;
pub(super) mod procs;
pub(super) mod runq;
pub(super) mod stop;
pub(super) mod sysmon_sleep;
pub(super) mod timer;
pub(super) mod timer_heap;
