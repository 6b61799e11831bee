//! Signals: the handler, and the queue from the handler to the receiver. Go's `signal_unix.go` and
//! `sigqueue.go`, as far as a scheduler needs them.
//!
//! - A fault in the guard page of a goroutine's stack is reported as Go reports a stack overflow,
//!   and ends the process with status 2. Every other fault goes to the handler that was installed
//!   before.
//! - If a goroutine is asked to stop and can be stopped where it is, the handler stops it
//!   (`preempt`).
//! - Signals that the program has asked for are passed on (`sigqueue.rs`). Other signals are left
//!   alone.
//! - Every handler in the process runs on the alternate signal stack of its thread, because a
//!   goroutine's stack may be smaller than the frame that the kernel pushes. `initsig` changes the
//!   handlers that were installed before.
//!
//! A handler may run at any instruction. It takes no lock, allocates nothing and makes no goroutine
//! ready. While it runs, `getg` is the M's `gsignal`; errno is restored at its end. An overflow is
//! reported from g0 after the handler has returned, because a handler may not do all that the
//! report needs.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `embedder.rs` | the signals of an embedder, which receives them itself |
//! | `handler.rs` | `initsig`, `sighandler`, `doSigPreempt`, `sigfwd`, `getsig`, `setsig`, `setsigstack` |
//! | `sigprof.rs` | `start_sampling`, `stop_sampling`: the CPU profile, on and off |
//! | `sigqueue.rs` | `sigsend`, `signal_recv`, `signalWaitUntilIdle`, `signal_ignored`; `signal_enable` and its kin; `sigenable`, `sigdisable`, `sigignore` |
//! | `snapshot.rs` | a running goroutine's stack, copied by its thread's handler |

pub(super) mod embedder;
pub(super) mod handler;
#[cfg(feature = "pprof")]
pub(super) mod sigprof;
pub(super) mod sigqueue;
pub(super) mod snapshot;
