//! The way from `run` to the first goroutine: Go's `rt0_go`, `schedinit` and `main`.
//!
//! The first call of `run` starts the runtime, on a thread that isn't ours and won't be. It sets up
//! the scheduler, makes m0, waits until m0 runs, and makes sysmon's thread. If a step fails for
//! want of memory or threads, the next call begins with that step. Then the call, like each later
//! one, makes a main goroutine and sleeps on a note until the goroutine has ended.
//!
//! `schedinit` runs as if the world were stopped, since no other thread uses the scheduler yet. It
//! first registers the reporter for the rooms below. An embedder has registered its hooks before.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `boot.rs` | `rt0_go`, `schedinit`, `mstartm0` |
//! | `main_goroutine.rs` | `main` |

pub(super) mod boot;
pub(super) mod main_goroutine;
