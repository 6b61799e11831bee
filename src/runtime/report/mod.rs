//! Everything that is printed: fatal errors, stacks of goroutines, the scheduler's state, metrics.
//! Go's `panic.go` and `traceback.go`.
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
//! it looks at it. For a running goroutine that doesn't stop, its thread makes a copy of the stack
//! (`signal/snapshot.rs`). For metrics and `schedtrace` no goroutine stops: the words are read at
//! slightly different moments.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `panic.rs` | `report`, `startpanic`, `dopanic`, `freezetheworld`: called for a throw |
//! | `goroutine_panic.rs` | `fatalpanic`; the panic hook, which names the goroutine of a panic |
//! | `watchdog.rs` | an end to reports that take too long |
//! | `overflow.rs` | the report of a goroutine's stack overflow |
//! | `traceback.rs` | `goroutineheader`, `tracebackothers`, `traceback` |
//! | `ancestors.rs` | `printcreatedby`, `printcreatedby1`, `printAncestorTraceback` |
//! | `symbols.rs` | `functions`, `whose`: from addresses to functions, files and lines |
//! | `libraries.rs` | `code_at`, `keep`: libraries that stay while their code is looked up |
//! | `nowhere.rs` | `Nowhere`: std's symbols of an address |
//! | `wait_since.rs` | `note_wait`: since when goroutines wait |
//! | `look.rs` | `look`: a goroutine's frames, and its other data for a report |
//! | `dump.rs` | `dump_goroutines`: Go's `runtime.Stack`, for all |
//! | `goroutines.rs` | `each_goroutine`: the stacks of all goroutines, for a profile |
//! | `deadlock.rs` | goroutines that wait for each other, where other threads might wake one |
//! | `explored.rs` | the report of a run of an exploration |
//! | `hogs.rs` | `Hog`: reports of goroutines that keep a P from others |
//! | `quit.rs` | SIGQUIT: the stacks of all goroutines, and the end of the process |
//! | `schedtrace.rs` | `schedtrace` |
//! | `metrics.rs` | Go's `runtime/metrics`, with its names |

mod ancestors;
pub(super) mod deadlock;
pub(super) mod dump;
pub(super) mod explored;
pub(super) mod goroutine_panic;
#[cfg(feature = "pprof")]
pub(super) mod goroutines;
pub(super) mod hogs;
mod libraries;
mod look;
pub mod metrics;
mod nowhere;
mod overflow;
pub(super) mod panic;
pub(super) mod quit;
pub(super) mod schedtrace;
pub(super) mod symbols;
mod traceback;
pub(super) mod wait_since;
mod watchdog;
