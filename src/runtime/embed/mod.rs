//! Where an embedder and a tracer hang in.
//!
//! What Go's scheduler does for its allocator, its collector and its deferred calls is a hook here:
//! a function that an embedder registers once, before the runtime starts. A tracer is one function,
//! which gets every event. Both are in one cache line, which each round of the scheduler reads;
//! unset, a hook and an event cost a load and a branch.
//!
//! They run on g0, in the middle of something: so they neither park nor unwind. A tracer may be
//! called with the scheduler's locks held, and calls nothing of the crate but what `set_tracer`
//! names.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `hooks.rs` | `set_hooks`, and the hooks in force |
//! | `symbolizer.rs` | `set_symbolizer`: names of code |
//! | `trace.rs` | `set_tracer`, and the events: where Go's `trace2runtime.go` writes its own format |

pub(super) mod hooks;
pub(super) mod symbolizer;
pub(super) mod trace;
