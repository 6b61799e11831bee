//! The last seconds of a program, for the time after a failure.

use std::io;
use std::time::Duration;

use crate::runtime::{recording, start_flight, stop_flight};

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
