//! Signals: the handler, and what leads from it to who receives. Go's `signal_unix.go` and `sigqueue.go`, as
//! far as a scheduler needs them.
//!
//! - A fault in the guard page of a goroutine's stack is reported as Go reports a stack overflow, and ends
//!   the process with status 2. Every other fault goes to whoever handled it before.
//! - A goroutine that is asked to stop, and that can be stopped where it is, is: `preempt`.
//! - What the program has asked for is passed on: `sigqueue.rs`. What it hasn't asked for is left alone.
//! - Every handler in the process runs on the alternate signal stack of its thread: a goroutine's stack may
//!   be smaller than the frame that the kernel pushes. `initsig` changes those that were there before.
//!
//! A handler may come at any instruction. It takes no lock, allocates nothing and makes nobody ready. While
//! it runs, `getg` is the M's `gsignal`; errno is put back at its end. An overflow is reported from g0, once
//! the handler has returned: that takes more than a handler may use.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `embedder.rs` | the signals of an embedder, which receives them itself |
//! | `handler.rs` | `initsig`, `sighandler`, `doSigPreempt`, `sigfwd`, `getsig`, `setsig`, `setsigstack` |
//! | `sigaction.rs` | `sigenable`, `sigdisable`, `sigignore`; `signal_enable` and its kin |
//! | `sigprof.rs` | `start_sampling`, `stop_sampling`: handlers that look at threads, on and off |
//! | `sigqueue.rs` | `sigsend`, `signal_recv`, `signalWaitUntilIdle`, `signal_ignored` |
//! | `snapshot.rs` | a running goroutine's stack, copied by its thread's handler |

pub(super) mod embedder;
pub(super) mod handler;
pub(super) mod sigaction;
#[cfg(feature = "pprof")]
pub(super) mod sigprof;
pub(super) mod sigqueue;
pub(super) mod snapshot;
