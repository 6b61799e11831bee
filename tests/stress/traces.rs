//! Traces that begin and end at any time, and the annotations in them.
//!
//! If the environment variable `STRESS_TRACES` names a folder, each process writes its first traces
//! there.

use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::labels::with_labels;
use gosched::time::sleep;
use gosched::trace::{self, FlightRecorder, Task, region};
use gosched::{Builder, blocking, go, gomaxprocs, scope};

use crate::rng::Rng;
use crate::tally::{Op, count};

/// How many traces of a process are kept. Reading them takes longer than writing them.
const KEPT: usize = 8;

/// Records a trace for some milliseconds, unless another one is being recorded. Its writer may fail
/// before, and another goroutine or a thread may stop it.
pub fn cut(rng: &mut Rng) {
    let file = Kept::new();
    let room = if rng.one_in(4) { rng.below(1 << 20) } else { usize::MAX };
    let writer = Writer { to: file.as_ref().map(Kept::create), room };
    if trace::start(writer).is_err() {
        return;
    }
    count(Op::Trace);
    if rng.one_in(2) {
        annotations(rng);
    }
    sleep(Duration::from_micros(rng.below(20_000) as u64));
    let outcome = match rng.below(3) {
        0 => trace::stop(),
        1 => go(trace::stop).join().unwrap(),
        _ => blocking(|| thread::spawn(trace::stop).join().unwrap()),
    };
    assert!(outcome.is_ok() || room < usize::MAX, "{outcome:?}");
    if let Some(file) = file {
        file.keep(if outcome.is_ok() { "trace" } else { "cut" });
    }
}

/// Starts a flight recorder and writes its trace a few times, unless another one runs.
pub fn flights(rng: &mut Rng) {
    let (age, bytes) = (Duration::from_micros(rng.below(20_000) as u64), rng.below(1 << 20));
    let mut recorder = FlightRecorder::new().min_age(age).max_bytes(bytes);
    if recorder.start().is_err() {
        return;
    }
    for _ in 0..rng.up_to(3) {
        annotations(rng);
        let mut trace = Vec::new();
        let written = recorder.write_to(&mut trace).unwrap();
        assert_eq!(written, trace.len() as u64);
        count(Op::Trace);
        if let Some(file) = Kept::new() {
            file.create().write_all(&trace).unwrap();
            file.keep("trace");
        }
    }
    if rng.one_in(2) {
        recorder.stop();
    }
}

/// Goroutines that record tasks, regions, messages and labels, and yield in between. One region of
/// each ends by a panic.
pub fn annotations(rng: &mut Rng) {
    let errand = Task::new("errand");
    scope(|s| {
        for n in 0..rng.up_to(4) {
            let (errand, mut rng) = (&errand, rng.fork());
            s.go(move || {
                let _outer = errand.region("outer");
                rng.pause();
                let part = errand.child("part");
                part.log("n", &n.to_string());
                with_labels([("n", n.to_string())], || {
                    let _inner = region("inner");
                    rng.pause();
                    trace::log("", "a message of no task");
                });
                let failed = catch_unwind(AssertUnwindSafe(|| {
                    let _failing = part.region("failing");
                    resume_unwind(Box::new(()))
                }));
                assert!(failed.is_err());
            });
        }
    });
    let named = Builder::new().name("named by the stress").go(|| drop(region("of the named one")));
    named.unwrap().join().unwrap();
}

/// The target of a trace. It fails when it has taken `room` bytes.
struct Writer {
    to: Option<File>,
    room: usize,
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fit = bytes.len().min(self.room);
        if fit == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.room -= fit;
        self.to.as_mut().map_or(Ok(fit), |file| file.write_all(&bytes[..fit]).map(|()| fit))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that is removed, unless `keep` has given it its final name.
struct Kept(PathBuf);

impl Kept {
    fn new() -> Option<Kept> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let folder = PathBuf::from(env::var_os("STRESS_TRACES")?);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let seed = env::var("STRESS_SEED").unwrap_or_default();
        (number < KEPT).then(|| Kept(folder.join(format!("{seed}-{}-{number}.part", gomaxprocs()))))
    }

    fn create(&self) -> File {
        File::create(&self.0).unwrap()
    }

    fn keep(&self, extension: &str) {
        fs::rename(&self.0, self.0.with_extension(extension)).unwrap();
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // The file is still there if the trace never began.
        let _ = fs::remove_file(&self.0);
    }
}
