//! Mistakes of programs that trace, and failures of the trace's file.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gosched::chan::bounded;
use gosched::explore::{Explorer, FailureKind};
use gosched::time::sleep;
use gosched::trace::{self, FlightRecorder};
use gosched::{blocking, go, run, yield_now};

use super::reader;
use super::summary::Summary;
use crate::harness::{Test, tests};

tests! {
    what_comes_at_the_wrong_time_is_an_error
    two_at_once_are_refused
    a_writer_that_fails_ends_the_trace
    a_writer_that_panics_ends_the_trace
    a_writer_may_panic_anywhere
    a_writer_that_uses_traces_gets_an_error
    a_recorder_may_be_dropped_anywhere
    a_recorder_may_end_as_a_trace_begins
    texts_take_a_limited_room
    a_full_disk_is_an_error_and_the_program_goes_on
    #[slow] a_writer_that_never_returns_stops_nobody
    regions_may_be_dropped_in_any_order
    what_threads_say_is_left_out
    a_file_that_was_named_and_cannot_be_made_is_told_of
    a_file_whose_name_is_no_text
    a_program_is_traced_that_knows_nothing_of_it
    a_schedule_that_fails_is_traced
    a_schedule_that_fails_while_std_parks_is_traced
    what_was_recorded_before_the_end_is_there
    what_was_recorded_before_a_deadlock_stays
}

/// Runs `f` in a process of its own, because each process can have only one trace.
fn alone(test: Test, f: impl FnOnce() + 'static) {
    test.process(f).end().with("exit status: 0");
}

/// A writer whose output a test can read.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn events(&self) -> Vec<reader::Event> {
        reader::read(&self.0.lock().unwrap()).unwrap()
    }
}

/// A writer that accepts a number of pieces, and then calls the function.
struct After<F>(usize, F);

impl<F: FnMut() -> io::Result<usize>> Write for After<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return (self.1)();
        }
        self.0 -= 1;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn what_comes_at_the_wrong_time_is_an_error(test: Test) {
    alone(test, || {
        assert!(trace::start(io::sink()).unwrap_err().to_string().contains("before the first gosched::run"));
        assert!(trace::stop().unwrap_err().to_string().contains("no trace to stop"));
        assert!(
            FlightRecorder::new().start().unwrap_err().to_string().contains("before the first gosched::run")
        );
        run(|| {
            assert!(trace::stop().unwrap_err().to_string().contains("no trace to stop"));
            let mut recorder = FlightRecorder::new();
            assert!(recorder.write_to(&mut Vec::new()).unwrap_err().to_string().contains("start it first"));
            recorder.stop();
            recorder.start().unwrap();
            recorder.stop();
            assert!(recorder.write_to(&mut Vec::new()).is_err());
        });
        // A thread that runs no goroutine may begin and end a trace.
        trace::start(io::sink()).unwrap();
        assert!(trace::is_enabled());
        trace::stop().unwrap();
        assert!(!trace::is_enabled());
    });
}

fn two_at_once_are_refused(test: Test) {
    alone(test, || {
        run(|| {
            trace::start(io::sink()).unwrap();
            assert_eq!(trace::start(io::sink()).unwrap_err().kind(), ErrorKind::ResourceBusy);
            let mut recorder = FlightRecorder::new();
            recorder.start().unwrap();
            assert_eq!(FlightRecorder::new().start().unwrap_err().kind(), ErrorKind::ResourceBusy);
            // Dropping a refused trace ends nothing, and each of the two others goes on without the
            // other.
            trace::stop().unwrap();
            go(yield_now).join().unwrap();
            let mut kept = Vec::new();
            recorder.write_to(&mut kept).unwrap();
            assert!(!reader::read(&kept).unwrap().is_empty());
            let written = Shared::default();
            trace::start(written.clone()).unwrap();
            recorder.stop();
            go(yield_now).join().unwrap();
            trace::stop().unwrap();
            assert!(!written.events().is_empty());
        });
    });
}

/// Makes events, until `enough`.
fn busy_until(enough: impl Fn() -> bool) {
    while !enough() {
        go(yield_now).join().unwrap();
    }
}

fn a_writer_that_fails_ends_the_trace(test: Test) {
    alone(test, || {
        static FAILED: AtomicBool = AtomicBool::new(false);
        run(|| {
            let fail = || {
                FAILED.store(true, Ordering::Relaxed);
                Err(io::Error::other("no more of it"))
            };
            trace::start(After(1, fail)).unwrap();
            busy_until(|| FAILED.load(Ordering::Relaxed));
            assert_eq!(trace::stop().unwrap_err().to_string(), "no more of it");
            assert!(
                trace::start(After(0, || Err(io::Error::other("nothing")))).is_err(),
                "the header isn't written"
            );
            assert!(!trace::is_enabled());
            trace::start(io::sink()).unwrap();
            trace::stop().unwrap();
        });
    });
}

fn a_writer_that_panics_ends_the_trace(test: Test) {
    alone(test, || {
        static FAILED: AtomicBool = AtomicBool::new(false);
        run(|| {
            let fail = || {
                FAILED.store(true, Ordering::Relaxed);
                panic!("a writer's bug")
            };
            trace::start(After(1, fail)).unwrap();
            busy_until(|| FAILED.load(Ordering::Relaxed));
            assert!(trace::stop().unwrap_err().to_string().contains("panicked"));
            trace::start(io::sink()).unwrap();
            trace::stop().unwrap();
        });
    });
}

/// Panics in one of its functions.
struct Panics {
    write: bool,
    flush: bool,
    drop: bool,
}

impl Write for Panics {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        assert!(!self.write, "on purpose");
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        assert!(!self.flush, "on purpose");
        Ok(())
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        assert!(!self.drop, "on purpose");
    }
}

fn a_writer_may_panic_anywhere(test: Test) {
    alone(test, || {
        run(|| {
            let error = trace::start(Panics { write: true, flush: false, drop: false }).unwrap_err();
            assert!(error.to_string().contains("panicked"));
            for (flush, drop) in [(true, false), (false, true), (true, true)] {
                trace::start(Panics { write: false, flush, drop }).unwrap();
                assert!(trace::stop().unwrap_err().to_string().contains("panicked"));
            }
            trace::start(io::sink()).unwrap();
            trace::stop().unwrap();
        });
    });
}

/// A writer that keeps a flight recorder, and calls it, which isn't allowed.
struct Meddles(FlightRecorder);

impl Write for Meddles {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for error in [
            trace::stop().unwrap_err(),
            trace::start(io::sink()).unwrap_err(),
            FlightRecorder::new().start().unwrap_err(),
            self.0.write_to(&mut Vec::new()).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Deadlock);
        }
        trace::log("a writer", "says something");
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn a_writer_that_uses_traces_gets_an_error(test: Test) {
    alone(test, || {
        run(|| {
            let mut recorder = FlightRecorder::new();
            recorder.start().unwrap();
            trace::start(Meddles(recorder)).unwrap();
            go(yield_now).join().unwrap();
            trace::stop().unwrap();
            FlightRecorder::new().start().unwrap();
        });
    });
}

fn a_recorder_may_be_dropped_anywhere(test: Test) {
    alone(test, || {
        run(|| {
            for _ in 0..3 {
                let mut recorder = FlightRecorder::new();
                recorder.start().unwrap();
                assert!(
                    go(|| {
                        blocking(move || {
                            let _recorder = recorder;
                            panic!("on purpose");
                        });
                    })
                    .join()
                    .is_err()
                );
                std::mem::forget(FlightRecorder::new());
            }
        });
        let mut recorder = FlightRecorder::new();
        recorder.start().unwrap();
    });
}

/// Every few milliseconds, the thread that writes checks whether a trace or a recorder still needs
/// it, and ends if none does. A trace that begins just then is whole, whatever follows.
fn a_recorder_may_end_as_a_trace_begins(test: Test) {
    let process = test.process(|| {
        run(|| {
            for i in 0..100 {
                let mut recorder = FlightRecorder::new();
                recorder.start().unwrap();
                sleep(Duration::from_micros(4_000 + 20 * i));
                let written = Shared::default();
                let header = written.clone();
                let ends = go(move || {
                    while header.0.lock().unwrap().is_empty() {
                        yield_now();
                    }
                    recorder.stop();
                });
                trace::start(written.clone()).unwrap();
                ends.join().unwrap();
                gosched::Builder::new().name("in the trace").go(yield_now).unwrap().join().unwrap();
                let mut next = FlightRecorder::new();
                next.start().unwrap();
                trace::stop().unwrap();
                assert!(!written.events().is_empty());
                assert!(contains(&written.0.lock().unwrap(), b"in the trace"), "{i}: nothing was recorded");
            }
        });
    });
    process.env("GOMAXPROCS", "2").end().with("exit status: 0");
}

/// A KiB of each text is kept. A generation ends when it is as large as the limit for all of them.
fn texts_take_a_limited_room(test: Test) {
    alone(test, || {
        run(|| {
            let mut recorder = FlightRecorder::new().max_bytes(1 << 20);
            recorder.start().unwrap();
            let long = "x".repeat(1 << 12);
            (0..10_000).for_each(|i| trace::log("long", &format!("{i}{long}")));
            let mut kept = Vec::new();
            recorder.write_to(&mut kept).unwrap();
            assert!(!reader::read(&kept).unwrap().is_empty());
            // As many of the last texts are kept as fit, and at most one part more.
            assert!((1 << 19..2 << 20).contains(&kept.len()), "{}", kept.len());
        });
    });
}

fn a_full_disk_is_an_error_and_the_program_goes_on(test: Test) {
    alone(test, || {
        run(|| {
            // The header of 16 bytes is refused, too.
            let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
            assert_eq!(trace::start(full()).unwrap_err().kind(), ErrorKind::StorageFull);
            let file = io::BufWriter::with_capacity(1 << 12, full());
            trace::start(file).unwrap();
            busy_until(|| false_after(100));
            assert_eq!(trace::stop().unwrap_err().kind(), ErrorKind::StorageFull);
        });
    });
}

/// Returns whether it was called at least `times` times before.
fn false_after(times: usize) -> bool {
    static ASKED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    ASKED.fetch_add(1, Ordering::Relaxed) >= times
}

/// Memory doesn't grow without end, either: some 64 MiB wait for the writer.
fn a_writer_that_never_returns_stops_nobody(test: Test) {
    let process = test.process(|| {
        run(|| {
            let (reader, writer) = io::pipe().unwrap();
            trace::start(writer).unwrap();
            // There are more texts than there is room for: a KiB of each is kept.
            let long = "x".repeat(1 << 10);
            (0..2 * (64 << 10)).for_each(|_| trace::log("long", &long));
            drop(reader);
            let error = trace::stop().unwrap_err();
            assert!(
                error.kind() == ErrorKind::BrokenPipe || error.to_string().contains("more was to be traced"),
                "{error}"
            );
            trace::start(io::sink()).unwrap();
            trace::stop().unwrap();
        });
    });
    // The process waits for the writer for half a second.
    process.also("patience=25").end().with("exit status: 0");
}

fn regions_may_be_dropped_in_any_order(test: Test) {
    alone(test, || {
        let written = Shared::default();
        run(|| {
            let before = trace::region("before the trace");
            trace::start(written.clone()).unwrap();
            let (outer, inner) = (trace::region("outer"), trace::region("inner"));
            drop(outer);
            drop(inner);
            drop(before);
            std::mem::forget(trace::region("forgotten"));
            let task = trace::Task::new("task");
            go(move || {
                let region = task.region("its own");
                drop(task);
                std::mem::forget(region);
            })
            .join()
            .unwrap();
            let _after = trace::region("after");
            trace::stop().unwrap();
        });
        assert!(!written.events().is_empty());
    });
}

fn what_threads_say_is_left_out(test: Test) {
    alone(test, || {
        let written = Shared::default();
        run(|| {
            trace::start(written.clone()).unwrap();
            let say = || {
                let task = trace::Task::new("a thread's");
                let _region = task.region("a thread's");
                trace::log("a thread's", "a thread's");
            };
            blocking(say);
            std::thread::scope(|s| s.spawn(say).join()).unwrap();
            trace::stop().unwrap();
        });
        assert!(!written.events().is_empty());
        assert!(!contains(&written.0.lock().unwrap(), b"a thread's"));
    });
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn a_file_that_was_named_and_cannot_be_made_is_told_of(test: Test) {
    let process = test.process(|| run(|| go(yield_now).join().unwrap()));
    let ended = process.env("GODEBUG", "tracefile=/nowhere/a.trace,tracecrash=/nowhere/b.trace").end();
    ended.with("exit status: 0").says("gosched: GODEBUG=tracefile: No such file or directory");
}

fn a_file_whose_name_is_no_text(test: Test) {
    let process = test.process(|| {
        let mut path = path("").into_os_string();
        path.push(OsStr::from_bytes(b"\xff"));
        let mut settings = OsString::from("deadlock=off,tracefile=");
        settings.push(&path);
        // SAFETY: there is no other thread that reads the environment.
        unsafe { env::set_var("GODEBUG", &settings) };
        run(|| go(yield_now).join().unwrap());
        reader::read(&fs::read(&path).unwrap()).unwrap();
        fs::remove_file(&path).unwrap();
    });
    process.end().with("exit status: 0").says_nothing();
}

/// Returns a path for this process and its child.
fn path(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("gosched-{}-{name}.trace", std::process::id()))
}

fn a_program_is_traced_that_knows_nothing_of_it(test: Test) {
    let path = path("all");
    let process = test.process(|| {
        run(|| gosched::Builder::new().name("the only one").go(yield_now).unwrap().join().unwrap());
        run(|| ());
    });
    process
        .env("GODEBUG", &format!("tracefile={}", path.display()))
        .end()
        .with("exit status: 0")
        .says_nothing();
    let trace = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    reader::read(&trace).unwrap();
    assert!(contains(&trace, b"the only one"));
}

fn a_schedule_that_fails_is_traced(test: Test) {
    trace_a_schedule_that_fails(test, "0");
}

/// The dump of the failure looks up names while std's waits park, and its reads are system calls.
fn a_schedule_that_fails_while_std_parks_is_traced(test: Test) {
    trace_a_schedule_that_fails(test, "1");
}

fn trace_a_schedule_that_fails(test: Test, std: &str) {
    let path = path(&format!("schedule-{std}"));
    // The line of `check`.
    let line = line!() + 2;
    let process = test.process(|| {
        let failure = Explorer::new().check(|| {
            let (tx, rx) = bounded(2);
            let sends = tx.clone();
            gosched::Builder::new().name("too early").go(move || sends.send(1).unwrap()).unwrap();
            tx.send(2).unwrap();
            assert_eq!(rx.recv(), Ok(2));
        });
        assert_eq!(failure.unwrap_err().kind(), FailureKind::Panic);
    });
    let token = format!("s1AA@{}:{line}", file!());
    let process = process.env("GODEBUG", &format!("tracefile={}", path.display()));
    let ended = process.env("GOSCHED_REPLAY", &token).env("GOSCHED_STD", std).end();
    ended.with("exit status: 0");
    assert!(!ended.stderr.contains("GOSCHED_REPLAY"), "{}", ended.stderr);
    let trace = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    // The goroutine has run because the schedule made another goroutine leave its thread at a
    // point.
    let summary = Summary::of(&reader::read(&trace).unwrap());
    // The schedule may run more than once.
    let early = summary.named("too early");
    let (_, early) = early.first().expect("it is there");
    assert!(early.running > 0, "it hasn't run");
    // The exploring goroutine has continued after the schedule.
    let first = early.maker.expect("it was made in the schedule");
    let explores = summary.goroutines[&first].maker.expect("it was made in the trace");
    assert!(summary.wakes.keys().any(|&(_, woken)| woken == explores), "{explores} hasn't gone on");
}

fn what_was_recorded_before_the_end_is_there(test: Test) {
    let causes: [fn(); 3] = [|| gosched::proc::throw("on purpose"), || _ = overflow(0), wait_for_ever];
    for i in 0..causes.len() {
        let path = path(&format!("crash-{i}"));
        let process = test.process(|| {
            let cause = causes[env::var("CAUSE").unwrap().parse::<usize>().unwrap()];
            run(|| {
                gosched::Builder::new().name("just before").go(yield_now).unwrap().join().unwrap();
                cause();
            });
        });
        let settings = format!("deadlock=fatal,tracecrash={}", path.display());
        let ended = process.env("GODEBUG", &settings).env("CAUSE", &i.to_string()).end();
        ended.with("exit status: 2").says(&format!("the trace of the last seconds is in {}", path.display()));
        let trace = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        reader::read(&trace).unwrap();
        assert!(contains(&trace, b"just before"));
    }
}

/// Records from before a deadlock that is only reported are in the file when the process ends
/// later.
fn what_was_recorded_before_a_deadlock_stays(test: Test) {
    let path = path("deadlock");
    let second = path.with_extension("trace.2");
    let process = test.process(|| {
        let first = path_of_crash();
        run(|| {
            // A thread of the program's may wake the goroutine, so the deadlock isn't certain.
            let (tx, rx) = gosched::chan::bounded::<()>(0);
            std::thread::spawn(move || {
                while !reader_accepts(&first) {
                    std::thread::sleep(Duration::from_millis(10));
                }
                tx.send(())
            });
            gosched::Builder::new().name("just before").go(yield_now).unwrap().join().unwrap();
            rx.recv().unwrap();
            gosched::proc::throw("on purpose");
        });
    });
    let settings = format!("period=10,tracecrash={}", path.display());
    let ended = process.env("GODEBUG", &settings).end();
    ended.with("exit status: 2").says(&format!("the trace of the last seconds is in {}\n", second.display()));
    for path in [path, second] {
        let trace = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        reader::read(&trace).unwrap();
    }
}

/// Returns the path of the file to which this process writes its last seconds.
fn path_of_crash() -> std::path::PathBuf {
    let godebug = env::var("GODEBUG").unwrap();
    godebug.split_once("tracecrash=").unwrap().1.into()
}

/// Returns whether there is a whole trace.
fn reader_accepts(path: &std::path::Path) -> bool {
    fs::read(path).is_ok_and(|trace| reader::read(&trace).is_ok_and(|events| !events.is_empty()))
}

fn overflow(depth: usize) -> usize {
    let frame = std::hint::black_box([depth; 64]);
    if depth == usize::MAX { 0 } else { overflow(frame[depth % 64] + 1) + std::hint::black_box(frame)[0] }
}

fn wait_for_ever() {
    let (_tx, rx) = gosched::chan::bounded::<()>(0);
    let _ = rx.recv();
}
