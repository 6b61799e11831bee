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
//! `GODEBUG=tracefile=PATH` traces a program that has no code for tracing, from the beginning of
//! its first `run` until that `run` returns. [`FlightRecorder`] keeps the last seconds in memory.
//! With `GODEBUG=tracecrash=PATH` the last seconds are written when the program ends with a fatal
//! error.
//!
//! # What isn't as in Go
//!
//! A goroutine that [runs without a P](crate::set_max_detached) is shown in a system call for that
//! time. When such a goroutine blocks, it is shown for a moment on a P with the number 1,048,576. A
//! stack has the frames of inlined functions only if the program has debug information. Stacks of a
//! stripped program are only addresses.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::time::Duration;

use crate::runtime::{
    Note, is_recording, new_task, record_annotation, recording, start_flight, start_trace, stop_flight,
    stop_trace, trace_enabled, truncate_text,
};

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

/// A trace whose last seconds are kept in memory. Go's `trace.FlightRecorder`, since 1.25.
///
/// ```
/// use std::time::Duration;
///
/// use gosched::trace::FlightRecorder;
///
/// gosched::run(|| {
///     let mut recorder = FlightRecorder::new().min_age(Duration::from_secs(5)).max_bytes(16 << 20);
///     recorder.start()?;
///     // ... and when a request took too long:
///     let mut trace = Vec::new();
///     let len = recorder.write_to(&mut trace)?;
///     assert_eq!(trace.len() as u64, len);
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
///
/// There can be one flight recorder at a time, beside a trace that is written. It ends when it is
/// dropped.
#[derive(Debug)]
#[must_use = "it records when it is started, until it is dropped"]
pub struct FlightRecorder {
    min_age: Duration,
    max_bytes: usize,
    started: bool,
}

impl FlightRecorder {
    /// Makes a recorder that keeps the last ten seconds, or the last 10 MiB if these are less.
    ///
    /// ```
    /// let mut recorder = gosched::trace::FlightRecorder::new();
    /// gosched::run(|| recorder.start()).unwrap();
    /// ```
    pub fn new() -> FlightRecorder {
        FlightRecorder { min_age: Duration::from_secs(10), max_bytes: 10 << 20, started: false }
    }

    /// Sets how long events are kept at least, unless there are too many bytes. Go's
    /// `FlightRecorderConfig.MinAge`.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let mut recorder = gosched::trace::FlightRecorder::new().min_age(Duration::from_secs(60));
    /// gosched::run(|| recorder.start()).unwrap();
    /// ```
    pub fn min_age(mut self, min_age: Duration) -> FlightRecorder {
        self.min_age = min_age;
        self
    }

    /// Sets how many bytes may be kept, besides the events of the last second. Go's
    /// `FlightRecorderConfig.MaxBytes`.
    ///
    /// ```
    /// let mut recorder = gosched::trace::FlightRecorder::new().max_bytes(64 << 20);
    /// gosched::run(|| recorder.start()).unwrap();
    /// ```
    pub fn max_bytes(mut self, max_bytes: usize) -> FlightRecorder {
        self.max_bytes = max_bytes;
        self
    }

    /// Begins to record.
    ///
    /// # Errors
    /// If another flight recorder records, before the first [`run`](crate::run), in an
    /// [exploration](crate::explore), and if no thread can be made.
    ///
    /// # Panics
    /// Inside [`blocking`](crate::blocking).
    ///
    /// ```
    /// gosched::run(|| gosched::trace::FlightRecorder::new().start()).unwrap();
    /// ```
    pub fn start(&mut self) -> io::Result<()> {
        start_flight(self.min_age, self.max_bytes)?;
        self.started = true;
        Ok(())
    }

    /// Writes the kept events as a trace, and returns the number of bytes. It goes on recording. It
    /// can be called on any thread.
    ///
    /// # Errors
    /// If it doesn't record, or could record no more; and errors of the writer.
    ///
    /// ```
    /// let mut recorder = gosched::trace::FlightRecorder::new();
    /// assert!(recorder.write_to(&mut Vec::new()).is_err(), "it wasn't started");
    /// ```
    pub fn write_to(&self, writer: &mut impl io::Write) -> io::Result<u64> {
        if !self.started {
            return Err(io::Error::other("gosched: this flight recorder doesn't record: start it first"));
        }
        recording()?.write_to(writer)
    }

    /// Ends recording, and drops the kept events. Does nothing if it doesn't record.
    ///
    /// ```
    /// gosched::run(|| {
    ///     let mut recorder = gosched::trace::FlightRecorder::new();
    ///     recorder.start()?;
    ///     recorder.stop();
    ///     recorder.start()
    /// })
    /// .unwrap();
    /// ```
    pub fn stop(&mut self) {
        if std::mem::take(&mut self.started) {
            stop_flight();
        }
    }
}

impl Default for FlightRecorder {
    fn default() -> FlightRecorder {
        FlightRecorder::new()
    }
}

impl Drop for FlightRecorder {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A piece of work that several goroutines may have a part in, such as a request. It lasts until it
/// is dropped. Go's `trace.Task`, which is in a context. Here the goroutines that work on it get a
/// reference, or find it in a context as a [value](crate::context::Context::with_value).
///
/// `go tool trace` lists tasks by their names, with their durations, regions and messages. Outside
/// of a trace a task costs next to nothing. On a thread that isn't a goroutine's it isn't recorded.
///
/// ```
/// use gosched::trace::Task;
///
/// gosched::run(|| {
///     let order = Task::new("order");
///     gosched::scope(|s| {
///         s.go(|| {
///             let _region = order.region("charge");
///             order.log("card", "accepted");
///         });
///     });
/// });
/// ```
#[must_use = "it ends when it is dropped"]
pub struct Task {
    id: u64,
}

impl Task {
    /// Begins a task. Go's `trace.NewTask`.
    ///
    /// ```
    /// let task = gosched::trace::Task::new("backup");
    /// task.log("from", "/srv");
    /// drop(task); // it ends
    /// ```
    pub fn new(name: &str) -> Task {
        Task::under(0, name)
    }

    /// Begins a task that is part of this one.
    ///
    /// ```
    /// let backup = gosched::trace::Task::new("backup");
    /// let file = backup.child("file");
    /// assert_ne!(file.id(), backup.id());
    /// ```
    pub fn child(&self, name: &str) -> Task {
        Task::under(self.id, name)
    }

    fn under(parent: u64, name: &str) -> Task {
        let id = new_task();
        if is_recording() {
            record_annotation(Note::TaskBegin { id, parent, name: truncate_text(name).into() });
        }
        Task { id }
    }

    /// Its number, which no other task of the process has.
    ///
    /// ```
    /// assert!(gosched::trace::Task::new("backup").id() > 0);
    /// ```
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Begins a region of the running goroutine in which it works on this task. Go's
    /// `trace.StartRegion`.
    ///
    /// ```
    /// let task = gosched::trace::Task::new("backup");
    /// let region = task.region("compress");
    /// drop(region);
    /// ```
    pub fn region(&self, name: &str) -> Region {
        Region::begin(self.id, name)
    }

    /// Records a message about this task, in a category by which messages can be told apart. Go's
    /// `trace.Log`.
    ///
    /// ```
    /// let task = gosched::trace::Task::new("backup");
    /// task.log("file", "notes.txt");
    /// ```
    pub fn log(&self, category: &str, message: &str) {
        log_for(self.id, category, message);
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("id", &self.id).finish()
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if is_recording() {
            record_annotation(Note::TaskEnd { id: self.id });
        }
    }
}

/// The time in which a goroutine does one thing. It lasts until it is dropped, on the same
/// goroutine. Go's `trace.Region`.
///
/// Regions nest. When a region is dropped, regions that began after it end, too. A forgotten region
/// ends with the goroutine.
#[must_use = "it ends when it is dropped"]
pub struct Region {
    task: u64,
    /// None if there was no trace when it began.
    name: Option<Box<str>>,
    /// Not `Send`: it belongs to its goroutine.
    not_send: PhantomData<*const ()>,
}

impl Region {
    fn begin(task: u64, name: &str) -> Region {
        let name: Option<Box<str>> = is_recording().then(|| truncate_text(name).into());
        if let Some(name) = &name {
            record_annotation(Note::RegionBegin { task, name: name.clone() });
        }
        Region { task, name, not_send: PhantomData }
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region").field("name", &self.name).finish()
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Some(name) = self.name.take()
            && is_recording()
        {
            record_annotation(Note::RegionEnd { task: self.task, name });
        }
    }
}

/// Begins a region of the running goroutine that belongs to no task. Go's `trace.StartRegion`.
///
/// ```
/// gosched::run(|| {
///     let _region = gosched::trace::region("parse");
/// });
/// ```
pub fn region(name: &str) -> Region {
    Region::begin(0, name)
}

/// Records a message, in a category by which messages can be told apart. Go's `trace.Log`. The
/// trace keeps the first KiB of the message, as of all names.
///
/// ```
/// gosched::run(|| gosched::trace::log("cache", "miss"));
/// ```
pub fn log(category: &str, message: &str) {
    log_for(0, category, message);
}

fn log_for(task: u64, category: &str, message: &str) {
    if is_recording() {
        record_annotation(Note::Log {
            task,
            category: truncate_text(category).into(),
            message: truncate_text(message).into(),
        });
    }
}
