//! Everything that is printed: fatal errors, stacks of goroutines, the scheduler's state, metrics. Go's
//! `panic.go` and `traceback.go`.
//!
//! A fatal error comes from anywhere: with any lock held, malloc's too, and in the middle of any change. So
//! its report
//!
//! - is made on g0, or on a thread that isn't ours, by one thread; a second waits for the process to end;
//! - freezes the world as well as that goes, and takes no lock of the runtime's: `allgs` is read without;
//! - goes on after a fault of its own, in a stack that is broken or by CFI that is wrong: what may fault is
//!   `guarded`, and comes after what is known without;
//! - has a watchdog, which ends what waits for a lock that nobody gives back, and the report if that isn't
//!   enough: what was printed by then has to do.
//!
//! A report of a program that goes on may allocate. `dump_goroutines` suspends each goroutine while it looks
//! at it; one that runs and doesn't stop has its thread leave a copy of its stack (`signal/snapshot.rs`). For
//! metrics and `schedtrace` nobody stops: each word is as it was at some moment near that of the others.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `panic.rs` | `report`, `startpanic`, `dopanic`, `freezetheworld`: what is called for a throw |
//! | `goroutine_panic.rs` | `fatalpanic`; the panic hook, which says whose a panic is |
//! | `watchdog.rs` | an end to reports that take too long |
//! | `overflow.rs` | a goroutine has used more stack than it has |
//! | `traceback.rs` | `goroutineheader`, `tracebackothers`, `traceback` |
//! | `ancestors.rs` | `printcreatedby`, `printcreatedby1`, `printAncestorTraceback` |
//! | `symbols.rs` | `functions`, `whose`: from addresses to functions, files and lines |
//! | `libraries.rs` | `code_at`, `keep`: libraries that stay while their code is looked up |
//! | `nowhere.rs` | `Nowhere`: what std says of an address |
//! | `wait_since.rs` | `note_wait`: since when goroutines wait |
//! | `look.rs` | `look`: a goroutine's frames, and what else is wanted of it |
//! | `dump.rs` | `dump_goroutines`: Go's `runtime.Stack`, for all |
//! | `goroutines.rs` | `each_goroutine`: what each does, for a profile |
//! | `deadlock.rs` | goroutines that wait for each other, where other threads might wake one |
//! | `explored.rs` | what is told of a run of an exploration |
//! | `hogs.rs` | `Hog`: goroutines that keep a P from others are told of |
//! | `quit.rs` | SIGQUIT: what every goroutine does, and the end |
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
