//! The way from `run` to the first goroutine: Go's `rt0_go`, `schedinit` and `main`.
//!
//! The first call of `run` starts the runtime, on a thread that isn't ours and won't be: it sets up
//! the scheduler, makes m0, waits until that runs, and makes sysmon's thread. What fails for want
//! of memory or threads is tried again by the next call, from the step that failed. Then, as each
//! later call does, it makes a main goroutine and sleeps on a note until that has ended.
//!
//! `schedinit` runs as if the world were stopped, since nobody else uses the scheduler yet. What is
//! registered for those below, the reporter and an embedder's hooks, is there before.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `boot.rs` | `rt0_go`, `schedinit`, `mstartm0` |
//! | `main_goroutine.rs` | `main` |

pub(super) mod boot;
pub(super) mod main_goroutine;
