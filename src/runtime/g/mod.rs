//! Goroutines as things: made, kept, counted, and their state; nothing here runs one. A part of Go's
//! `proc.go`.
//!
//! A G belongs to whoever made it, until it is on a queue; to the M that runs it; to whoever took it from a
//! queue or a channel; to the free list that it is on. It is on one list at a time, linked through
//! `schedlink`.
//!
//! - `newproc1` makes a G that is runnable and on no queue. To let it run is `sched`'s (`enqueue`).
//! - A G's state is also a lock on its stack: `status.rs`. The scan bit holds up every change until whoever
//!   has set it clears it, and has a rank as a lock has.
//! - A dead G is on a free list of its P, if its kind of stack has one, or on the common list of its kind,
//!   under `sched.g_free.lock`. With a handle it isn't free before that is gone: `joiner.rs`.
//! - `allgs` has every G but those whose page went back to the kernel. It can be read without a lock, in a
//!   report too; adding and removing takes `allglock`.
//! - Sudogs are taken from the cache of the P and given back there, by who keeps the P; without one, from and to
//!   the central cache.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `newproc.rs` | `newproc1`, `malg`, `gostartcallfn` |
//! | `status.rs` | `readgstatus`, `casgstatus`, `castogscanstatus`, `casgcopystack`, `casGToPreemptScan` |
//! | `gfree.rs` | `gfput`, `gfget`, `gfpurge` |
//! | `allgs.rs` | `allgadd`, `atomicAllG`, `forEachG`, `forEachGRace` |
//! | `joiner.rs` | who waits for the end: the states of `ext.joiner` |
//! | `sudog.rs` | `acquireSudog`, `releaseSudog` |
//! | `explored.rs` | the numbers of an exploration's goroutines |
//! | `tracking.rs` | how long goroutines wait for a P, and for mutexes |
//! | `slot.rs` | the closure and the result in the home page |
//! | `proflabel.rs` | `setProfLabel`, `getProfLabel`: what labels hang on |
//! | `values.rs` | `Values`: the values of goroutine-locals; `end_locals` |
//! | `ancestors.rs` | `saveAncestors`: who made the maker |
//! | `callers.rs` | `gcallers`: the frames of one that stands still |

pub(super) mod allgs;
pub(super) mod ancestors;
pub(super) mod callers;
pub(super) mod explored;
pub(super) mod gfree;
pub(super) mod joiner;
pub(super) mod newproc;
pub(super) mod proflabel;
mod slot;
pub(super) mod status;
pub(super) mod sudog;
mod tracking;
pub(super) mod values;
