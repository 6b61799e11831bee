//! Goroutines as objects: how they are kept and counted, and their state. Nothing here makes or
//! runs a goroutine. A part of Go's `proc.go`.
//!
//! A G belongs to its maker until it is on a queue, to the M that runs it, to the thread that took
//! it from a queue or a channel, or to the free list that it is on. It is on one list at a time,
//! linked through `schedlink`.
//!
//! - A G's state is also a lock on its stack: `status.rs`. The scan bit holds up every change until
//!   the thread that has set it clears it. The bit has a rank, as a lock does.
//! - A dead G is on a free list of its P, if its kind of stack has one, or on the common list of
//!   its kind, under `sched.g_free.lock`. A G with a handle isn't freed before the handle is gone:
//!   `sched/goexit.rs`.
//! - `allgs` has every G except those whose page went back to the kernel. It can be read without a
//!   lock, in a report too. Adding and removing takes `allglock`.
//! - An M that keeps its P takes sudogs from the P's cache and gives them back there. An M without
//!   a P uses the central cache.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `status.rs` | `readgstatus`, `casgstatus`, `castogscanstatus`, `casgcopystack`, `casGToPreemptScan`; how long goroutines wait |
//! | `gfree.rs` | `gfput`, `gfget`, `gfpurge` |
//! | `allgs.rs` | `allgadd`, `atomicAllG`, `forEachG`, `forEachGRace` |
//! | `sudog.rs` | `acquireSudog`, `releaseSudog` |
//! | `explored.rs` | the numbers of an exploration's goroutines |
//! | `proflabel.rs` | `setProfLabel`, `getProfLabel`: what labels hang on |
//! | `aborted.rs` | the mark of a goroutine that was aborted |
//! | `values.rs` | `Values`: the values of goroutine-locals; `drop_locals` |
//! | `extent.rs` | what holds during a call: the run with which its waits end, and bound values |
//! | `callers.rs` | `gcallers`: the frames of a goroutine that stands still; `saveAncestors` |

pub(super) mod aborted;
pub(super) mod allgs;
pub(super) mod callers;
pub(super) mod explored;
pub(super) mod extent;
pub(super) mod gfree;
pub(super) mod proflabel;
pub(super) mod status;
pub(super) mod sudog;
pub(super) mod values;
