//! Everything that the runtime prints: fatal errors, stacks of goroutines, the scheduler's state,
//! metrics. Go's `panic.go` and `traceback.go`.
//!
//! A fatal error may occur with any lock held, malloc's too, and in the middle of any change. So
//! its report
//!
//! - is made on g0 or on a foreign thread, by one thread; a second thread waits for the process to
//!   end;
//! - freezes the world as far as possible, and takes no lock of the runtime's: it reads `allgs`
//!   without its lock;
//! - goes on after a fault of its own, in a broken stack or because of wrong CFI: code that may
//!   fault is `guarded`, and comes after the parts that can't;
//! - has a watchdog, which ends a step that waits for a lock that is never released. If that isn't
//!   enough, the watchdog ends the report, with only the part that was printed by then.
//!
//! A report of a program that goes on may allocate. `dump_goroutines` suspends each goroutine while
//! it looks at the goroutine. If a running goroutine doesn't stop, its thread makes a copy of the
//! stack (`signal/snapshot.rs`). For metrics and `schedtrace` no goroutine stops, so the values are
//! of slightly different moments.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `panic.rs` | `report`, `startpanic`, `dopanic`, `freezetheworld`; stack overflows; `fatalpanic`, and the panic hook |
//! | `watchdog.rs` | an end to reports that take too long |
//! | `quit.rs` | SIGQUIT: the stacks of all goroutines, and the end of the process |
//! | `traceback.rs` | `goroutineheader`, `traceback`, `tracebackothers`, `traceback_grouped`, `printcreatedby1`; `note_wait`: since when goroutines wait |
//! | `symbols.rs` | `functions`, `whose`: from addresses to functions, files and lines; libraries that stay meanwhile |
//! | `dump.rs` | `dump_goroutines`: Go's `runtime.Stack`, for all; `goroutine_groups`, `goroutine_stacks`: the same as data |
//! | `groups.rs` | `Group`: goroutines with equal stacks; `Stacks`: with their symbols |
//! | `json.rs` | `dump_json`: the groups for tools |
//! | `deadlock.rs` | goroutines that wait for each other, where other threads might wake one |
//! | `explored.rs` | the report of a run of an exploration |
//! | `hogs.rs` | `Hog`: reports of goroutines that keep a P from others |
//! | `schedtrace.rs` | `schedtrace` |
//! | `sched_state.rs` | the same as data |
//! | `metrics.rs` | Go's `runtime/metrics`, with its names |
//! | `states.rs` | how many goroutines run, can run and wait |
//! | `prometheus.rs` | `write_prometheus`: metrics as Prometheus reads them |

pub(super) mod deadlock;
pub(super) mod dump;
pub(super) mod explored;
pub(super) mod groups;
pub(super) mod hogs;
pub(super) mod json;
pub mod metrics;
pub(super) mod panic;
mod prometheus;
pub(super) mod quit;
#[cfg(feature = "inspect")]
pub(super) mod sched_state;
pub(super) mod schedtrace;
mod states;
pub(super) mod symbols;
pub(super) mod traceback;
mod watchdog;
