//! Stacks that move: growing, shrinking, and adjusting the pointers into them. The upper half of
//! Go's `stack.go`; the memory of stacks comes from `mem`.
//!
//! A check that finds a copying stack full copies the stack to a segment of twice the size. When
//! less than a quarter is used, the stack is copied to a segment of half the size, or back to the
//! home page if it fits there.
//!
//! - A stack grows on its own M, on g0, as `GCOPYSTACK`. It shrinks there, too, when the goroutine
//!   stops. Another goroutine that has suspended this one may also shrink it. A stack isn't moved
//!   in a system call, because the kernel may have addresses in it, nor at an asynchronous safe
//!   point, because registers may have some. It isn't moved while the goroutine works on g0, or is
//!   about to park on a channel.
//! - Outside of a stack, the pointers into it are those that a move adjusts: `sched`, the sudogs
//!   that the goroutine waits on, and the embedder's chains, by a hook. `proc::copying_stacks` says
//!   what this demands of code.
//! - A sender may write to a parked receiver's stack meanwhile. So the receiver's channels are
//!   locked, in the order that `select` has locked them in, while that part of the stack is copied.
//! - Frames that have a frame map are adjusted exactly. If there are maps and a frame of a stack
//!   can't be found, that stack isn't shrunk. In frames without a map, every aligned word that
//!   looks like an address of the stack is taken for one.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `newstack.rs` | `newstack`, `round2`: a check has failed |
//! | `copystack.rs` | `copystack`, `adjustsudogs`, `findsghi`, `syncadjustsudogs` |
//! | `shrink.rs` | `shrinkstack`, `isShrinkStackSafe` |
//! | `frame_map.rs` | `adjustframe`, and what an embedder knows of its frames |
//! | `scan.rs` | the ranges in which a conservative collector looks for pointers |
//! | `verify.rs` | a search for what a move has missed |

pub(super) mod copystack;
pub(super) mod frame_map;
pub(super) mod newstack;
pub(super) mod scan;
pub(super) mod shrink;
mod verify;
