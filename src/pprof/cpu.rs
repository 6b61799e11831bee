//! The profile of computing threads: Go's `StartCPUProfile` and `StopCPUProfile`, in
//! `runtime/pprof/pprof.go`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use crate::pprof::builder::{Builder, Inner, ValueType, labels_of};
use crate::pprof::{joined, spawn};
use crate::runtime::{Copies, LabelMap, Sample, start_sampling, stop_sampling, take_samples};

/// The time between two collections of the samples that the signal handlers have recorded.
const INTERVAL: Duration = Duration::from_millis(20);

/// The most samples in a second: a kernel looks at its timers some thousand times.
const MAX_HZ: u32 = 10_000;

static HZ: AtomicU32 = AtomicU32::new(100);

/// The thread that makes a profile, and the flag that ends it.
struct Profiler {
    thread: JoinHandle<io::Result<Vec<u8>>>,
    over: Arc<AtomicBool>,
}

static PROFILER: Mutex<Option<Profiler>> = Mutex::new(None);

fn profiler() -> MutexGuard<'static, Option<Profiler>> {
    PROFILER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the number of samples per second of a thread's processor time, in profiles that begin
/// later: 1 to 10,000. The default is 100. Go's `runtime.SetCPUProfileRate`, which also begins a
/// profile.
///
/// The kernel may look at its timers less often, for instance 250 times in a second. At a higher
/// rate, one look at a thread then counts as several samples.
///
/// ```
/// gosched::pprof::set_cpu_profile_rate(500);
/// ```
///
/// # Panics
/// If `hz` is 0 or more than 10,000.
pub fn set_cpu_profile_rate(hz: u32) {
    assert!(
        (1..=MAX_HZ).contains(&hz),
        "set_cpu_profile_rate({hz}): give a rate from 1 to {MAX_HZ} per second"
    );
    HZ.store(hz, Ordering::Relaxed);
}

/// Begins a profile of the program's processor time. Go's `pprof.StartCPUProfile`, which takes the
/// writer that [`stop_cpu_profile`] takes here.
///
/// Each thread that runs goroutines gets a timer of the kernel's, which signals it (`SIGPROF`) 100
/// times per second of its processor time ([`set_cpu_profile_rate`]). A sample has the stack, with
/// the runtime's frames, and the goroutine's [labels](crate::labels). System calls outside of
/// [`blocking`](crate::blocking) may return `EINTR` where they do for any signal. Threads that
/// aren't the runtime's are left out. Samples with the same stack are counted together, so a longer
/// profile is hardly larger. If samples come faster than a thread collects them, some are lost, and
/// the profile says so.
///
/// While a profile is made, the runtime handles `SIGPROF`. If the program had no handler for it, it
/// ignores the signal afterwards.
///
/// ```
/// gosched::run(|| {
///     gosched::pprof::start_cpu_profile().unwrap();
///     let sum: u64 = (0..1_000_000).sum();
///     let mut file = Vec::new();
///     gosched::pprof::stop_cpu_profile(&mut file).unwrap();
///     assert!(file.starts_with(b"\x1f\x8b"));
///     assert!(sum > 0);
/// });
/// ```
///
/// # Errors
/// If a profile is being made already (`ResourceBusy`), if the kernel refuses a timer, for instance
/// because the user has too many (`RLIMIT_SIGPENDING`), or if no thread can be made.
pub fn start_cpu_profile() -> io::Result<()> {
    let mut profiler = profiler();
    let hz = HZ.load(Ordering::Relaxed);
    let copies = Copies::new()?;
    start_sampling(hz as i32)?;
    let over = Arc::new(AtomicBool::new(false));
    let thread = spawn({
        let over = over.clone();
        move || profile(hz, copies, &over)
    })
    .inspect_err(|_| stop_sampling(|| ()))?;
    *profiler = Some(Profiler { thread, over });
    Ok(())
}

/// Ends the profile that [`start_cpu_profile`] has begun, and writes it as a compressed
/// `profile.proto`, which `go tool pprof` reads. Go's `pprof.StopCPUProfile`.
///
/// The goroutine waits until the file is made, as in [`blocking`](crate::blocking). It must not be
/// on a copying stack.
///
/// ```
/// let error = gosched::pprof::stop_cpu_profile(&mut std::io::sink()).unwrap_err();
/// assert_eq!(error.to_string(), "no CPU profile is being made");
/// ```
///
/// # Errors
/// If no profile was begun. Errors of `out`, and of making the profile; it has ended nevertheless.
///
/// # Panics
/// As `out` does.
pub fn stop_cpu_profile(out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let ended = profiler().take();
    let Some(Profiler { thread, over }) = ended else {
        return Err(io::Error::other("no CPU profile is being made"));
    };
    over.store(true, Ordering::Relaxed);
    thread.thread().unpark();
    out.write_all(&joined(thread)?)
}

/// How often each stack was seen, with its labels.
#[derive(Default)]
struct Seen {
    counts: BTreeMap<(Vec<usize>, Option<Arc<LabelMap>>), i64>,
    lost: u64,
}

impl Seen {
    fn take(&mut self, copies: &mut Copies) {
        self.lost += take_samples(copies, |Sample { pcs, labels, periods }| {
            *self.counts.entry((pcs.as_slice().to_vec(), labels)).or_insert(0) += periods;
        });
    }
}

/// Makes the profile until `over` is set. Go's `profileWriter`.
fn profile(hz: u32, mut copies: Copies, over: &AtomicBool) -> io::Result<Vec<u8>> {
    const SAMPLES: ValueType = ("samples", "count");
    const CPU: ValueType = ("cpu", "nanoseconds");

    let (begun, since) = (SystemTime::now(), Instant::now());
    let mut seen = Seen::default();
    while !over.load(Ordering::Relaxed) {
        thread::park_timeout(INTERVAL);
        seen.take(&mut copies);
    }
    stop_sampling(|| seen.take(&mut copies));
    let duration = since.elapsed();
    let period = i64::from(1_000_000_000 / hz);
    let mut builder = Builder::new(&[SAMPLES, CPU], begun, (CPU, period as u64));
    builder.duration(duration);
    for ((pcs, labels), count) in &seen.counts {
        builder.sample(pcs, Inner::Runtime, &[*count, count * period], labels_of(labels.as_deref()));
    }
    if seen.lost > 0 {
        let lost = seen.lost as i64;
        builder.sample_of("gosched::pprof::lost_samples", &[lost, lost * period]);
    }
    builder.finish()
}
