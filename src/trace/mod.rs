//! The execution trace: what goroutines, P's and threads did, in the file format that Go's tools
//! read.
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
//! `go tool trace FILE` opens a trace in a browser, `go tool trace -d=parsed FILE` prints it, and
//! gotraceui shows it. The format is Go's, version 2, as Go 1.23 writes it.
//!
//! A trace has each goroutine with its stacks, the reasons why it waits, and the goroutine that
//! made it runnable. It also has system calls, coroutines, stops of the world, and the program's
//! own [`Task`]s, [`region`]s and [`log`]s. A goroutine's name in the trace is that of
//! [`Builder::name`](crate::Builder::name), or the function that it begins with.
//!
//! `GODEBUG=tracefile=PATH` traces a program that has no code for it, from its first `run` until
//! that returns. [`FlightRecorder`] keeps the last seconds in memory. With
//! `GODEBUG=tracecrash=PATH` the last seconds are written when the program ends with a fatal error.
//!
//! # What isn't as in Go
//!
//! A goroutine that [runs without a P](crate::set_max_detached) is shown in a system call for that
//! time. Where it blocks, it has for a moment a P with the number 1,048,576. A stack has the frames
//! of inlined functions only if the program has debug information. Stacks of a stripped program are
//! only addresses.
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
/// A thread of its own writes the trace, in pieces of 64 KiB and more. Once a second it writes
/// everything that the earlier pieces need, so a truncated file is readable up to there. The world
/// is stopped for a moment at the start. While the trace runs, each event costs some 20 to 60 ns
/// more, and the thread about as much.
///
/// # Errors
/// If there is a trace already, before the first [`run`](crate::run), in an
/// [exploration](crate::explore), if there is no thread, and if the header can't be written.
///
/// The writer is called with a lock held that [`stop`] and the flight recorder take. The writer may
/// be slow, but mustn't wait for a goroutine that waits for one of these. A panic in the writer, or
/// in its drop, is an error of [`stop`].
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

/// Ends the trace, when all events so far are written. Go's `trace.Stop`.
///
/// # Errors
/// If there is no trace, and in an [exploration](crate::explore). The writer's error, which ended
/// the trace when it came. If the writer was so slow that 64 MiB of events waited for it, an error
/// that says so. The part that was written until then is readable.
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
