//! Asking a goroutine to stop, and knowing where it may be stopped: Go's `preempt.go`, and
//! `preemptone` of `proc.go`. How it then leaves is in `sched/gosched.rs`.
//!
//! A goroutine stops where it can be left for any time and seen by anybody: at a *safe point*. It
//! is at one whenever it isn't running. While it runs, its checks are safe points. To ask it to
//! stop, `g.preempt` is set, and the word that its checks compare with is made larger than any
//! address, so that the next check fails and leads to `newstack`.
//!
//! Code that has no checks, but that the program has registered as preemptible, is stopped
//! *asynchronously*: its thread gets a signal. That is SIGURG, as in Go, because hardly a program
//! uses it, and programs that do expect it at any time. The handler looks whether this is a safe
//! point. If it is, the handler makes the goroutine call `gosched_async_preempt`
//! (`asm/*/preempt.S`), which leaves it just as a check would have. Otherwise the goroutine goes on
//! to its next check.
//!
//! There are two reasons to ask. One is that others should run: it goes to the end of the global
//! queue. The other is that somebody wants to look at its stack: `suspendG` (in `world`) sets
//! `g.preempt_stop` as well, and it parks as `GPREEMPTED`.
//!
//! - A request is best effort. The M may run another goroutine by the time of the request, or none,
//!   and a word that the thread itself writes at each switch may be overwritten. A caller that
//!   needs the stop asks again.
//! - The signal handler's functions take no lock and allocate nothing: those that say where a
//!   goroutine may be stopped, the look into the registry, and what an M notes of its thread.
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
