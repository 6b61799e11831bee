//! Traces of programs that weren't written for it: `GODEBUG=tracefile=PATH`,
//! `GODEBUG=tracecrash=PATH`.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use crate::runtime::base::debug::{path_setting, patience};
use crate::runtime::base::fatal::set_last_words;
use crate::runtime::base::guarded::guarded;
use crate::runtime::base::os::{nanotime, usleep};
use crate::runtime::base::print::eprintln;
use crate::runtime::trace::flight::Recording;
use crate::runtime::trace::session::{recording_at_the_end, start_flight, start_trace, stop_trace};
use crate::runtime::trace::writer::records_taken;

/// How much is kept for the report of an error: what Go's flight recorder keeps.
const KEPT: (Duration, usize) = (Duration::from_secs(10), 10 << 20);

/// How long the writer is waited for when the process ends, since it took its last record.
const PATIENCE_NS: i64 = 2_000_000_000;

/// Where the last seconds are written, if the process ends with an error.
static CRASH: OnceLock<PathBuf> = OnceLock::new();

/// How often that was done: a deadlock may be reported before the process ends.
static WRITTEN: AtomicU32 = AtomicU32::new(0);

/// While this lives, what happens is written to the file that the environment names.
pub(in crate::runtime) struct Traced;

/// Begins what the environment asks for, when the first main goroutine is about to begin. What
/// can't be done is said on stderr.
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

/// Whether that was done; else says why not.
fn done(setting: &str, result: io::Result<()>) -> bool {
    result.inspect_err(|error| eprintln!("gosched: GODEBUG={setting}: {error}")).is_ok()
}

/// The recording, as soon as nobody else has the writer; none if its holder stands still.
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

/// Writes what the flight recorder has.
fn write_crash() {
    let Some(path) = CRASH.get() else { return };
    // What led to a deadlock isn't in the recording any more when the process ends later: that has
    // a file of its own.
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
