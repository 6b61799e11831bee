//! The execution trace: what goroutines, P's and threads did, in the file that Go's tools read.
//!
//! ```
//! use std::{env, fs::File};
//!
//! use gosched::{go, trace};
//!
//! let path = env::temp_dir().join(format!("doc-{}.trace", std::process::id()));
//! gosched::run(|| {
//!     trace::start(File::create(&path)?)?;
//!     let worker = go(|| {
//!         let _region = trace::region("compute");
//!         (1..=10u64).product::<u64>()
//!     });
//!     assert_eq!(worker.join().unwrap(), 3_628_800);
//!     trace::stop()
//! })
//! .unwrap();
//! assert!(std::fs::metadata(&path).unwrap().len() > 100);
//! std::fs::remove_file(&path).unwrap();
//! ```
//!
//! `go tool trace FILE` opens it in a browser, `go tool trace -d=parsed FILE` prints it, and gotraceui shows it. It is
//! Go's format, version 2, as Go 1.23 writes it: each goroutine with its stacks and the reasons why it waits, who made
//! it runnable, system calls, coroutines, stops of the world, and what the program says itself by [`Task`], [`region`] and
//! [`log`]. A goroutine's name, of [`Builder::name`](crate::Builder::name), is its name there; of others, it is the
//! function that they begin with.
//!
//! A program that wasn't written for it is traced by `GODEBUG=tracefile=PATH`, from its first `run` until that returns.
//! [`FlightRecorder`] keeps the last seconds in memory; and with `GODEBUG=tracecrash=PATH` they are written when the program
//! ends with a fatal error.
//!
//! # What isn't as in Go
//!
//! A goroutine that [runs without a P](crate::set_max_detached) is shown in a system call for that time. Where it blocks, it
//! has for a moment a P with the number 1,048,576. A stack has the frames of a function that was inlined
//! only if the program has debug information, and of a stripped program the addresses are all.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `mod.rs` | `start`, `stop`, `is_enabled`: Go's `runtime/trace/trace.go` |
//! | `annotation.rs` | `Task`, `Region`, `log`: Go's `runtime/trace/annotation.go` |
//! | `flight_recorder.rs` | `FlightRecorder`: Go's `runtime/trace/flightrecorder.go`, since 1.25 |

mod annotation;
mod flight_recorder;

pub use annotation::{Region, Task, log, region};
pub use flight_recorder::FlightRecorder;

use std::io;

use crate::runtime::{start_trace, stop_trace, trace_enabled};

/// Begins to write a trace. Go's `trace.Start`.
///
/// A thread of its own writes, in pieces of 64 KiB and more, and once a second all that belongs to what was written: a file
/// that is cut off is readable up to there. The world is stopped for a moment in the beginning. While it goes on, what
/// happens costs some 20 to 60 ns more each time, and the thread about as much.
///
/// # Errors
/// If there is a trace already, before the first [`run`](crate::run), in an
/// [exploration](crate::explore), if there is no thread, and what the header's writing returns.
///
/// The writer is called with a lock held that [`stop`] takes, and the flight recorder: it may take its time, but mustn't wait
/// for a goroutine that waits for one of these. What panics in it, or in its drop, is an error of `stop`'s.
///
/// # Panics
/// Inside [`blocking`](crate::blocking).
///
/// ```
/// use gosched::trace;
///
/// gosched::run(|| {
///     trace::start(std::io::sink())?;
///     assert!(trace::start(std::io::sink()).is_err(), "there is one");
///     trace::stop()
/// })
/// .unwrap();
/// ```
pub fn start(writer: impl io::Write + Send + 'static) -> io::Result<()> {
    start_trace(Box::new(writer))
}

/// Ends the trace, when everything that has happened is written. Go's `trace.Stop`.
///
/// # Errors
/// If there is no trace; in an [exploration](crate::explore); the writer's error, which has ended
/// the trace when it came; or, if it was so slow that 64 MiB of
/// events waited for it, one that says so. What was written until then is readable.
///
/// # Panics
/// Inside [`blocking`](crate::blocking).
///
/// ```
/// use gosched::trace;
///
/// gosched::run(|| {
///     trace::start(std::io::sink())?;
///     trace::stop()?;
///     assert!(trace::stop().is_err(), "it was stopped");
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
pub fn stop() -> io::Result<()> {
    stop_trace()
}

/// Whether there is a trace. Go's `trace.IsEnabled`.
///
/// ```
/// assert!(!gosched::trace::is_enabled());
/// ```
pub fn is_enabled() -> bool {
    trace_enabled()
}
