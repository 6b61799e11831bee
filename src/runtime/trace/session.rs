//! The start and the end of a trace: Go's `StartTrace` and `StopTrace`.
//!
//! Recording begins with the world stopped, when no P but the caller's has an M. So the state of
//! each P is known. The state of a goroutine that runs without a P follows from its first record.
//! Recording ends without a stop of the world; records that are made at that moment are left out.
//!
//! `GODEBUG=tracefile=PATH` and `GODEBUG=tracecrash=PATH` trace a program that doesn't call these
//! functions ([`traced_as_said`]).

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use crate::runtime::arch::systemstack;
use crate::runtime::base::debug::{path_setting, patience};
use crate::runtime::base::fatal::set_last_words;
use crate::runtime::base::guarded::guarded;
use crate::runtime::base::os::{nanotime, usleep};
use crate::runtime::base::print::eprintln;
use crate::runtime::base::real::with_system_threads;
use crate::runtime::base::this::{started, this_m};
use crate::runtime::data::runtime2::{GDEAD, GIDLE, GRUNNABLE, GRUNNING, GSCAN, GSYSCALL};
use crate::runtime::embed::trace::set_recorder;
use crate::runtime::g::allgs::{atomic_all_g, atomic_all_g_index};
use crate::runtime::p::procs::procs;
use crate::runtime::sched::exploration::explored_number;
use crate::runtime::sched::mstart::{must_run, where_nothing_parks};
use crate::runtime::sema::semacquire::{semacquire, semrelease};
use crate::runtime::trace::buffer::{self, all_buffers, buffer_of, empty, without_p};
use crate::runtime::trace::encoder::HEADER;
use crate::runtime::trace::order::{Go, Order};
use crate::runtime::trace::recorder::record;
use crate::runtime::trace::stack::start_of;
use crate::runtime::trace::writer::{
    Flight, Recording, Sink, Writer, is_with_theirs, records_taken, theirs, try_writer, writer,
    writer_at_last,
};
use crate::runtime::world::procresize::for_every_p;
use crate::runtime::world::stw::{StwReason, start_the_world, stop_the_world};

/// Held to begin or end a trace or a flight recorder. Go's `traceAdvanceSema`.
static SEMA: AtomicU32 = AtomicU32::new(1);

/// Whether the program's own trace is on. Changed by the holder of [`SEMA`].
static ENABLED: AtomicBool = AtomicBool::new(false);

/// Whether there is a flight recorder. Set with [`SEMA`] held; [`stop_flight`] clears it without
/// holding [`SEMA`].
static FLIES: AtomicBool = AtomicBool::new(false);

/// The number of the current session, for its thread; 0 if there is none.
static SESSION: Mutex<u64> = Mutex::new(0);

/// Notified when [`SESSION`] has changed.
static CHANGED: Condvar = Condvar::new();

/// The time between two reads of the records.
const PERIOD: Duration = Duration::from_millis(5);

fn session() -> MutexGuard<'static, u64> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `f`, which begins or ends a trace or a flight recorder, with [`SEMA`] held.
fn alone<R>(what: &str, f: impl FnOnce() -> R) -> R {
    struct Release;
    impl Drop for Release {
        fn drop(&mut self) {
            semrelease(&SEMA);
        }
    }
    let _guest = must_run(what);
    semacquire(&SEMA);
    let _release = Release;
    f()
}

/// Calls `f` on a thread of its own, because `f` needs a large stack, which a goroutine may not
/// have.
fn on_thread<R: Send>(f: impl FnOnce() -> R + Send) -> io::Result<R> {
    thread::scope(|s| {
        let builder = thread::Builder::new().name("gosched-trace-end".to_owned());
        let thread = with_system_threads(|| builder.spawn_scoped(s, f))?;
        thread.join().map_err(|_| io::Error::other("gosched: the trace's thread panicked"))
    })
}

/// Returns an error if the program's own writer calls this: the operation would wait for the end of
/// that writer.
fn not_in_writer() -> io::Result<()> {
    if is_with_theirs() {
        return Err(io::Error::new(
            io::ErrorKind::Deadlock,
            "gosched: a trace's writer can't begin or end traces",
        ));
    }
    Ok(())
}

/// Returns an error in an exploration. The writer is code of the program's, so a run may end in the
/// writer, or in the wait for another goroutine's turn. A goroutine that such a run leaves behind
/// would hold [`SEMA`] forever.
fn not_explored() -> io::Result<()> {
    if explored_number().is_some() {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "gosched: an exploration can't begin or end traces: do it before and after",
        ));
    }
    Ok(())
}

fn is_busy(flag: &AtomicBool, what: &str) -> io::Result<()> {
    if flag.load(Ordering::Relaxed) {
        let error = format!("gosched: there is a {what} already: stop it first");
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, error));
    }
    Ok(())
}

/// Whether annotations of the program are recorded.
pub(crate) fn is_recording() -> bool {
    ENABLED.load(Ordering::Relaxed) || FLIES.load(Ordering::Relaxed)
}

/// [`trace::is_enabled`](crate::trace::is_enabled).
pub(crate) fn trace_enabled() -> bool {
    ENABLED.load(Ordering::Relaxed)
}

/// [`trace::start`](crate::trace::start).
pub(crate) fn start_trace(sink: Sink) -> io::Result<()> {
    not_in_writer()?;
    not_explored()?;
    has_started()?;
    // A sink that wasn't taken is dropped after SEMA is released.
    let mut sink = Some(sink);
    alone("trace::start", || {
        is_busy(&ENABLED, "trace")?;
        sink.as_mut().map_or(Ok(()), |sink| theirs(|| sink.write_all(HEADER)))?;
        change_writer(|writer| writer.sink = sink.take())?;
        ENABLED.store(true, Ordering::Relaxed);
        Ok(())
    })
}

/// [`trace::stop`](crate::trace::stop).
pub(crate) fn stop_trace() -> io::Result<()> {
    let nothing = || io::Error::other("gosched: there is no trace to stop");
    not_in_writer()?;
    not_explored()?;
    has_started().map_err(|_| nothing())?;
    alone("trace::stop", || {
        if !ENABLED.swap(false, Ordering::Relaxed) {
            return Err(nothing());
        }
        let result = on_thread(|| writer().as_mut().map_or(Ok(()), Writer::detach));
        end_unused_session();
        result?
    })
}

/// [`FlightRecorder::start`](crate::trace::FlightRecorder::start).
pub(crate) fn start_flight(min_age: Duration, max_bytes: usize) -> io::Result<()> {
    not_in_writer()?;
    not_explored()?;
    has_started()?;
    alone("FlightRecorder::start", || {
        is_busy(&FLIES, "flight recorder")?;
        // FLIES is set first: while it isn't, the thread drops a flight recorder.
        FLIES.store(true, Ordering::Relaxed);
        change_writer(|writer| writer.flight = Some(Flight::new(min_age, max_bytes)))
            .inspect_err(|_| FLIES.store(false, Ordering::Relaxed))
    })
}

/// [`FlightRecorder::stop`](crate::trace::FlightRecorder::stop). If the caller can't wait, or is in
/// an exploration, the trace's thread ends the flight recorder.
pub(crate) fn stop_flight() {
    FLIES.store(false, Ordering::Relaxed);
    if is_with_theirs() || where_nothing_parks().is_some() || explored_number().is_some() {
        return;
    }
    alone("FlightRecorder::stop", || {
        if let Some(writer) = writer().as_mut().filter(|_| !FLIES.load(Ordering::Relaxed)) {
            writer.flight = None;
        }
        end_unused_session();
    });
}

/// Returns the contents of the flight recorder; an error if there is none, or if it couldn't go on
/// recording.
pub(crate) fn recording() -> io::Result<Recording> {
    not_in_writer()?;
    on_thread(|| recording_of(&mut writer()))?
}

/// [`recording`] for the report of a fatal error, when all threads have been stopped at arbitrary
/// points. Returns none if one of them holds the writer's lock.
fn recording_at_the_end() -> Option<io::Result<Recording>> {
    try_writer().map(|mut writer| recording_of(&mut writer))
}

fn recording_of(writer: &mut Option<Writer>) -> io::Result<Recording> {
    let Some(writer) = writer else { return Err(no_flight()) };
    writer.advance_now();
    if let Some(error) = writer.broken() {
        return Err(error);
    }
    writer.flight.as_ref().map(Flight::recording).ok_or_else(no_flight)
}

fn no_flight() -> io::Error {
    io::Error::other("gosched: there is no flight recorder to write from: start it first")
}

fn has_started() -> io::Result<()> {
    if started() {
        Ok(())
    } else {
        Err(io::Error::other("gosched: nothing can be traced before the first gosched::run"))
    }
}

/// Applies `change` to the writer, from a new generation on. Begins a session if there is none.
fn change_writer(change: impl FnOnce(&mut Writer) + Send) -> io::Result<()> {
    end_unused_session();
    let mut change = Some(change);
    // The result of a trace that is over, if it wasn't reported yet.
    let mut failed = Ok(());
    if writer().is_some() {
        on_thread(|| {
            let mut writer = writer();
            // Checked again under the lock: the trace's thread may have given up a moment ago, and
            // a writer that is over records nothing.
            if let Some(over) = writer.take_if(|writer| writer.is_over) {
                failed = over.result;
            } else if let (Some(writer), Some(change)) = (writer.as_mut(), change.take()) {
                // Advances at once: data handed over in between would be missing in the generation.
                writer.advance_now();
                change(writer);
            }
        })?;
    }
    let Some(change) = change else { return Ok(()) };
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    let mut running = session();
    let builder = thread::Builder::new().name("gosched-trace".to_owned());
    with_system_threads(|| builder.spawn(move || write(number)))?;
    *running = number;
    drop(running);
    let stopped = stop_the_world(StwReason::StartTrace);
    let mut order = Order::new();
    systemstack(|| snapshot(&mut order));
    let mut new = Writer::new(order);
    new.result = failed;
    change(&mut new);
    *writer() = Some(new);
    start_the_world(stopped);
    Ok(())
}

/// The number of the last session.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Begins recording, and notes the states of all P's and goroutines. Called on g0, with the world
/// stopped.
fn snapshot(order: &mut Order) {
    let _without_p = without_p();
    all_buffers().for_each(empty);
    buffer::LOST.store(false, Ordering::Relaxed);
    let all = || (0..atomic_all_g()).filter_map(atomic_all_g_index);
    all().for_each(|gp| gp.ext.trace_seq.set(0));
    for_every_p(|pp| pp.ext.trace_marks.seq.set(0));
    set_recorder(Some(record));
    let me = this_m();
    let my_p = me.and_then(|mp| mp.p.peek()).map(|pp| pp.id.get());
    // Threads without a P are kept from recording, and threads with a P stand still.
    let number = |mp| buffer_of(Some(mp)).writer.number.get();
    for pp in &procs().allp {
        let mine = Some(pp.id.get()) == my_p;
        order.has_p(pp.id.get() as u32, me.filter(|_| mine).map(number));
    }
    for gp in all() {
        // SeqCst: comes after the store of the listener, in set_recorder. See `G::atomicstatus`.
        let status = match gp.atomicstatus.load(Ordering::SeqCst) & !GSCAN {
            GIDLE | GDEAD => continue,
            GRUNNABLE => Go::Runnable,
            GRUNNING | GSYSCALL => Go::Syscall,
            _ => Go::Waiting,
        };
        let mine = me.and_then(|mp| mp.curg.get()).is_some_and(|mine| std::ptr::eq(mine, gp));
        let m = gp.m.get().map_or(0, number);
        let status = match status {
            _ if mine => Go::Running,
            // The goroutine has just left its thread.
            Go::Syscall if m == 0 => continue,
            status => status,
        };
        order.has_g(gp.goid.get(), status, m, start_of(me, gp), mine);
    }
}

/// Ends recording if neither a trace nor a flight recorder is left.
fn end_unused_session() {
    if !is_recording() {
        set_recorder(None);
        *session() = 0;
        *writer() = None;
        CHANGED.notify_one();
    }
}

/// The function of the thread that writes.
fn write(number: u64) {
    let mut more = false;
    loop {
        let mut session = session();
        if *session == number && !std::mem::take(&mut more) {
            session = CHANGED.wait_timeout(session, PERIOD).unwrap_or_else(PoisonError::into_inner).0;
        }
        if *session != number {
            return;
        }
        drop(session);
        let mut writer = writer_at_last();
        let Some(writer) = writer.as_mut().filter(|writer| !writer.is_over) else { continue };
        if !FLIES.load(Ordering::Relaxed) {
            writer.flight = None;
        }
        more = writer.work();
        if writer.is_over {
            more = false;
            set_recorder(None);
        }
    }
}

/// While this lives, a trace is written to the file that the environment names.
pub(in crate::runtime) struct Traced;

/// Begins the traces that the environment asks for, when the first main goroutine is about to
/// begin. Reports failures on stderr.
pub(in crate::runtime) fn traced_as_said() -> Option<Traced> {
    static LOOKED: AtomicBool = AtomicBool::new(false);
    if LOOKED.swap(true, Ordering::Relaxed) {
        return None;
    }
    if let Some(path) = path_setting("tracecrash")
        && done("tracecrash", start_flight(KEPT.0, KEPT.1))
    {
        CRASH.get_or_init(|| path);
        set_last_words(|| _ = guarded(write_crash));
    }
    let path = path_setting("tracefile")?;
    done("tracefile", File::create(path).and_then(|file| start_trace(Box::new(file)))).then(|| Traced)
}

impl Drop for Traced {
    fn drop(&mut self) {
        done("tracefile", stop_trace());
    }
}

/// How much the flight recorder keeps for the report of an error: as much as Go's.
const KEPT: (Duration, usize) = (Duration::from_secs(10), 10 << 20);

/// The file for the last seconds, if the process ends with an error.
static CRASH: OnceLock<PathBuf> = OnceLock::new();

/// How many times the last seconds were written. A deadlock may be reported before the process
/// ends.
static WRITTEN: AtomicU32 = AtomicU32::new(0);

/// Returns whether `setting` was carried out. If not, prints why.
fn done(setting: &str, result: io::Result<()>) -> bool {
    result.inspect_err(|error| eprintln!("gosched: GODEBUG={setting}: {error}")).is_ok()
}

/// Writes the contents of the flight recorder to a file.
fn write_crash() {
    let Some(path) = CRASH.get() else { return };
    // Each recording has a file of its own. When the process ends later, the recording doesn't
    // contain the cause of a deadlock any more.
    let mut path = path.clone().into_os_string();
    match WRITTEN.fetch_add(1, Ordering::Relaxed) {
        0 => {}
        before => path.push(format!(".{}", before + 1)),
    }
    let path = PathBuf::from(path);
    let recording = recording_when_free();
    let Some(recording) = recording else {
        eprintln!("gosched: GODEBUG=tracecrash: the trace's writer is busy");
        return;
    };
    let written = recording.and_then(|recording| recording.write_to(&mut File::create(&path)?));
    if done("tracecrash", written.map(drop)) {
        eprintln!("the trace of the last seconds is in {}", path.display());
    }
}

/// Returns the recording as soon as no other thread has the writer, or none if the writer's holder
/// stands still.
fn recording_when_free() -> Option<io::Result<Recording>> {
    let mut taken = records_taken();
    let mut since = nanotime();
    loop {
        let recording = recording_at_the_end();
        if recording.is_some() {
            return recording;
        }
        usleep(1_000);
        if records_taken() != taken {
            taken = records_taken();
            since = nanotime();
        } else if nanotime() - since > patience(PATIENCE_NS) {
            return None;
        }
    }
}

/// How many nanoseconds to wait for the writer when the process ends, since the writer took its
/// last record.
const PATIENCE_NS: i64 = 2_000_000_000;
