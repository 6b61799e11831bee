//! Profiles and traces, as files or as flame graphs. One is made at a time.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::inspect::flame::flame_graph;
use crate::inspect::http::{Answer, Request};
use crate::inspect::json::Json;
use crate::inspect::live::has_left;
use crate::inspect::serve::Server;
use crate::net::Pollable;
use crate::pprof::{Profile, on_a_thread, start_cpu_profile, stop_cpu_profile};
use crate::sync::Mutex;
use crate::trace::{self, FlightRecorder};

/// The longest CPU profile and the longest trace, in seconds.
const LONGEST_PROFILE: u64 = 60;
const LONGEST_TRACE: u64 = 10;

/// The most bytes of a trace.
const TRACE_BYTES: usize = 64 << 20;

/// A profile or a trace that a request asks for.
pub(super) struct Recording {
    what: What,
    as_flames: bool,
}

enum What {
    Cpu(Duration),
    Trace(Duration),
    /// What the flight recorder has kept.
    LastSeconds,
    Profile(Profile),
}

impl Recording {
    /// Returns what a request asks for, or the answer that refuses it.
    pub(super) fn of(request: &Request) -> Result<Recording, Answer> {
        let seconds =
            |usual, most| Duration::from_secs(request.number("seconds").unwrap_or(usual).clamp(1, most));
        let what = match (request.path.as_str(), request.asked("kind")) {
            ("/api/trace", "last") => What::LastSeconds,
            ("/api/trace", _) => What::Trace(seconds(2, LONGEST_TRACE)),
            (_, "cpu") => What::Cpu(seconds(5, LONGEST_PROFILE)),
            (_, kind) => match Profile::named(kind) {
                Some(profile) => What::Profile(profile),
                None => return Err(Answer::error("404 Not Found", "there is no such profile")),
            },
        };
        Ok(Recording { what, as_flames: request.asked("as") == "flames" })
    }
}

/// The flight recorder that the page has started, and the turn for profiles and traces.
#[derive(Default)]
pub(super) struct Recorder {
    flight: Mutex<Option<FlightRecorder>>,
    busy: AtomicBool,
}

/// The right to make a profile or a trace.
struct Turn<'a>(&'a AtomicBool);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Recorder {
    fn turn(&self) -> Option<Turn<'_>> {
        let free = self.busy.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
        free.then(|| Turn(&self.busy))
    }

    /// Starts or stops the flight recorder, if the request asks for that. Returns whether it
    /// records.
    pub(super) fn switch(&self, request: &Request) -> Answer {
        let mut flight = self.flight.lock();
        match (request.asked("on"), &mut *flight) {
            ("1", None) => {
                let mut recorder = FlightRecorder::new();
                if let Err(error) = recorder.start() {
                    return Answer::error("409 Conflict", &error.to_string());
                }
                *flight = Some(recorder);
            }
            ("0", recorder) => *recorder = None,
            _ => {}
        }
        let on = flight.is_some();
        Answer::json(Json::of_object(|json| json.key("on").bool(on)))
    }
}

impl Server {
    /// Makes a profile or a trace, and sends it. Stops early if the client leaves.
    pub(super) fn record<T>(&self, recording: &Recording, mut stream: Pollable<T>) -> io::Result<()>
    where
        T: AsFd,
        Pollable<T>: Read + Write,
    {
        let Some(turn) = self.recorder.turn() else {
            let busy = Answer::error("429 Too Many Requests", "another profile or trace is being made");
            return busy.write_to(&mut stream);
        };
        let made = match &recording.what {
            What::Cpu(time) => cpu_profile(&mut stream, *time),
            What::Trace(time) => trace_for(&mut stream, *time),
            What::LastSeconds => self.last_seconds(),
            What::Profile(profile) => {
                let mut file = Vec::new();
                profile.write_to(&mut file).map(|()| Some(file))
            }
        };
        let answer = match made {
            Ok(None) => return Ok(()),
            Ok(Some(file)) if recording.as_flames => match on_a_thread(move || flame_graph(&file))? {
                Some(flames) => Answer::json(flames),
                None => Answer::error("500 Internal Server Error", "the profile can't be read"),
            },
            Ok(Some(file)) => Answer::new("application/octet-stream", file),
            Err(error) => Answer::error("409 Conflict", &error.to_string()),
        };
        drop(turn);
        answer.write_to(&mut stream)
    }

    fn last_seconds(&self) -> io::Result<Option<Vec<u8>>> {
        match &*self.recorder.flight.lock() {
            Some(recorder) => {
                let mut file = Vec::new();
                recorder.write_to(&mut file)?;
                Ok(Some(file))
            }
            None => Err(io::Error::other("nothing is kept: start to keep the last seconds first")),
        }
    }
}

/// Returns a CPU profile of the next seconds; none if the client has left.
fn cpu_profile<T>(stream: &mut Pollable<T>, time: Duration) -> io::Result<Option<Vec<u8>>>
where
    T: AsFd,
    Pollable<T>: Read,
{
    start_cpu_profile()?;
    let left = has_left(stream, time);
    let mut file = Vec::new();
    stop_cpu_profile(&mut file)?;
    Ok(if left? { None } else { Some(file) })
}

/// Returns a trace of the next seconds; none if the client has left.
fn trace_for<T>(stream: &mut Pollable<T>, time: Duration) -> io::Result<Option<Vec<u8>>>
where
    T: AsFd,
    Pollable<T>: Read,
{
    let written = Written::default();
    trace::start(written.clone())?;
    let left = has_left(stream, time);
    trace::stop()?;
    let file = std::mem::take(&mut *written.0.lock());
    Ok(if left? { None } else { Some(file) })
}

/// The bytes that a trace has written, in memory.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.0.lock();
        if all.len() + bytes.len() > TRACE_BYTES {
            return Err(io::Error::new(ErrorKind::StorageFull, "the trace has more than 64 MiB"));
        }
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
