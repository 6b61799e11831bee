//! The places where an embedder and a tracer are called.
//!
//! Where Go's scheduler serves its allocator, its collector and its deferred calls, this one calls
//! a hook: a function that an embedder registers once, before the runtime starts. A tracer is one
//! function, which gets every event. Both are in one cache line, which each round of the scheduler
//! reads. A hook or an event that is unset costs a load and a branch.
//!
//! Hooks and tracers run on g0, while the scheduler is in the middle of something, so they neither
//! park nor unwind. A tracer may be called with the scheduler's locks held. Of this crate, it calls
//! only the functions that `set_tracer` names.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `hooks.rs` | `set_hooks`, and the hooks in force; `set_symbolizer`: names of code |
//! | `trace.rs` | `set_tracer`, and the events: where Go's `trace2runtime.go` writes its own format |

pub(super) mod hooks;
pub(super) mod trace;
