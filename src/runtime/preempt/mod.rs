//! Asking a goroutine to stop, and knowing where it may be stopped: Go's `preempt.go`, and
//! `preemptone` of `proc.go`. `sched/park.rs` has how the goroutine then leaves its M.
//!
//! A goroutine stops at a *safe point*, where it can be left for any time and looked at by any
//! thread. It is at a safe point whenever it isn't running. While it runs, its checks are safe
//! points. A thread that asks it to stop sets `g.preempt`, and makes the word that its checks
//! compare with larger than any address. So the next check fails and leads to `newstack`.
//!
//! Code that has no checks, but that the program has registered as preemptible, is stopped
//! *asynchronously*: its thread gets a signal. The signal is SIGURG, as in Go, because hardly any
//! program uses it, and programs that do expect it at any time. The handler checks whether the
//! goroutine is at a safe point. If it is, the handler makes the goroutine call
//! `gosched_async_preempt` (`asm/*/preempt.S`), which leaves it just as a check would have.
//! Otherwise the goroutine goes on to its next check.
//!
//! There are two reasons to ask. The first is that other goroutines should run: the goroutine goes
//! to the end of the global queue. The second is that a thread wants to look at the goroutine's
//! stack: `suspendG` (in `world`) sets `g.preempt_stop` as well, and the goroutine parks as
//! `GPREEMPTED`.
//!
//! - A request is best effort. By the time of the request the M may run another goroutine, or none.
//!   And the M writes the word that the checks compare with at each switch, so it may overwrite the
//!   request. A caller that needs the stop asks again.
//! - The functions that the signal handler calls take no lock and allocate nothing: those that say
//!   where a goroutine may be stopped, that look into the registry, and that note things about the
//!   M's thread.
//! - A stack never moves at an asynchronous safe point.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `ask.rs` | `preemptone`, `preemptM`; `Asked`, what else a goroutine is asked for; which thread an M has, and whether a signal is on its way to it |
//! | `preemptible.rs` | `canPreemptM`, `wantAsyncPreempt`, `isAsyncSafePoint`; the registry of preemptible code, and `preemptible!` |
//! | `libc_code.rs` | where the C library's code is, in which a goroutine isn't kept |
//! | `xregs.rs` | `xRegSave`, `xRegRestore`: the vector registers of a preempted goroutine |

pub(super) mod ask;
pub(super) mod libc_code;
pub(super) mod preemptible;
pub(super) mod xregs;
