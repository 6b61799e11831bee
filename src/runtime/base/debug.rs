//! Settings from the environment, `GODEBUG`, `GOTRACEBACK` and `GOMAXPROCS`: a part of Go's
//! `runtime1.go`.

use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use crate::runtime::base::this::this_m;
use crate::runtime::data::ext::ThrowType;

/// The maximum number of P's: more than Linux has processors, and few enough to look at each.
pub(crate) const MAX_GOMAXPROCS: i32 = 16_384;

/// A setting of `GODEBUG`: its name and its value.
struct Setting {
    name: &'static str,
    /// The words for its values 0, 1, and so on.
    words: &'static [&'static str],
    value: AtomicI32,
}

impl Setting {
    const fn new(name: &'static str, default: i32) -> Self {
        Setting::of_words(name, &[], default)
    }

    const fn of_words(name: &'static str, words: &'static [&'static str], default: i32) -> Self {
        Setting { name, words, value: AtomicI32::new(default) }
    }

    /// Returns the value of `text`.
    fn parse(&self, text: &str) -> Option<i32> {
        let word = self.words.iter().position(|word| *word == text);
        word.map(|at| at as i32).or_else(|| text.parse().ok())
    }

    #[inline(always)]
    fn get(&self) -> i32 {
        self.value.load(Ordering::Relaxed)
    }
}

/// The value of a setting that the environment doesn't name, if that must be distinguished.
const NOT_SAID: i32 = -1;

static ASYNC_PREEMPT_OFF: Setting = Setting::new("asyncpreemptoff", 0);
static BUSY_POLL: Setting = Setting::new("busypoll", 0);
static CONTAINER_MAXPROCS: Setting = Setting::new("containermaxprocs", 1);
static DEADLOCK: Setting = Setting::of_words("deadlock", &["off", "report", "fatal"], NOT_SAID);
static DETACH: Setting = Setting::new("detach", 1);
static DIE_ON_PANIC: Setting = Setting::new("dieonpanic", 0);
static EFENCE: Setting = Setting::new("efence", 0);
static GC_SHRINK_STACK_OFF: Setting = Setting::new("gcshrinkstackoff", 0);
static HOGS: Setting = Setting::new("hogs", 0);
static PATIENCE: Setting = Setting::new("patience", 100);
static PERIOD: Setting = Setting::new("period", 100);
static RANDOMIZE_SCHEDULER: Setting = Setting::new("randomizescheduler", 0);
static SCHED_DETAIL: Setting = Setting::new("scheddetail", 0);
static SCHED_TRACE: Setting = Setting::new("schedtrace", 0);
static STACK_FORCE_MOVE: Setting = Setting::new("stackforcemove", 0);
static STACK_KEEP: Setting = Setting::new("stackkeep", 1);
static STACK_VERIFY: Setting = Setting::new("stackverify", 0);
static STD_PARK: Setting = Setting::new("stdpark", 1);
static THREADS: Setting = Setting::new("threads", 1);
static TRACEBACK_ANCESTORS: Setting = Setting::new("tracebackancestors", 0);
static TRACEBACK_LABELS: Setting = Setting::new("tracebacklabels", 1);
static UPDATE_MAXPROCS: Setting = Setting::new("updatemaxprocs", 1);

static SETTINGS: [&Setting; 22] = [
    &ASYNC_PREEMPT_OFF,
    &BUSY_POLL,
    &CONTAINER_MAXPROCS,
    &DEADLOCK,
    &DETACH,
    &DIE_ON_PANIC,
    &EFENCE,
    &GC_SHRINK_STACK_OFF,
    &HOGS,
    &PATIENCE,
    &PERIOD,
    &RANDOMIZE_SCHEDULER,
    &SCHED_DETAIL,
    &SCHED_TRACE,
    &STACK_FORCE_MOVE,
    &STACK_KEEP,
    &STACK_VERIFY,
    &STD_PARK,
    &THREADS,
    &TRACEBACK_ANCESTORS,
    &TRACEBACK_LABELS,
    &UPDATE_MAXPROCS,
];

/// Whether goroutines are stopped at their checks only. Go's `asyncpreemptoff`. It is always on
/// under ThreadSanitizer, which delays handlers as it likes, and gives them a context from which
/// the code doesn't go on.
pub(in crate::runtime) fn async_preempt_off() -> bool {
    cfg!(tsan) || ASYNC_PREEMPT_OFF.get() > 0
}

/// Returns how many microseconds the kernel polls a network card before a thread that waits for
/// descriptors sleeps; 0 disables the polling.
pub(in crate::runtime) fn busy_poll() -> u32 {
    BUSY_POLL.get().max(0) as u32
}

/// Whether the default of GOMAXPROCS ignores the limit of the control group. Go's
/// `containermaxprocs`, since 1.25.
pub(in crate::runtime) fn container_maxprocs_off() -> bool {
    CONTAINER_MAXPROCS.get() == 0
}

/// The program's setting of [`DeadlockMode`](crate::DeadlockMode), as a number: at first `report`.
static DEADLOCK_MODE: AtomicI32 = AtomicI32::new(1);

/// Returns the [`DeadlockMode`](crate::DeadlockMode) as a number: the action when goroutines seem
/// to wait for each other.
pub(in crate::runtime) fn deadlock_mode() -> i32 {
    let by_environment = Some(DEADLOCK.get()).filter(|value| *value != NOT_SAID);
    by_environment.unwrap_or_else(|| DEADLOCK_MODE.load(Ordering::Relaxed))
}

/// Sets [`deadlock_mode`]. The environment overrides it.
pub(in crate::runtime) fn set_deadlock_mode(mode: i32) {
    DEADLOCK_MODE.store(mode, Ordering::Relaxed);
}

/// Whether nothing happens when goroutines wait for each other.
pub(in crate::runtime) fn deadlock_off() -> bool {
    deadlock_mode() == 0
}

/// Whether a goroutine that keeps its P from others, in code where it can't be stopped, loses it.
pub(in crate::runtime) fn detach_on() -> bool {
    DETACH.get() > 0 && !async_preempt_off()
}

/// Sets [`detach_on`].
pub(crate) fn set_detach(on: bool) {
    DETACH.value.store(on.into(), Ordering::Relaxed);
}

/// Whether each signal takes the P wherever that is possible: for tests.
pub(in crate::runtime) fn detach_always() -> bool {
    DETACH.get() > 1
}

/// Whether sysmon sends such signals all the time: for tests.
pub(in crate::runtime) fn detach_torture() -> bool {
    DETACH.get() == 2
}

/// Whether the process ends if a goroutine panics and nobody joins it, as in Go.
pub(crate) fn die_on_panic() -> bool {
    DIE_ON_PANIC.get() > 0
}

/// Sets [`die_on_panic`].
pub(crate) fn set_die_on_panic(die: bool) {
    DIE_ON_PANIC.value.store(die.into(), Ordering::Relaxed);
}

/// Whether a freed segment becomes inaccessible for good, and a home page's stack is filled with
/// [`POISON`](crate::runtime::mem::sizes::POISON) when the goroutine leaves it for a segment. Go's
/// `efence`, with its `stackPoisonCopy`.
pub(in crate::runtime) fn efence() -> bool {
    EFENCE.get() > 0
}

/// Whether stacks never shrink. Go's `gcshrinkstackoff`.
pub(in crate::runtime) fn gc_shrink_stack_off() -> bool {
    GC_SHRINK_STACK_OFF.get() > 0
}

/// Whether to report goroutines that keep a P from others in code where they can't be stopped.
pub(in crate::runtime) fn hogs() -> bool {
    HOGS.get() > 0
}

/// Scales the time that the runtime waits for a late thread before it goes on without that thread.
/// Returns `GODEBUG=patience` percent of `usual`, in nanoseconds. A slow machine needs more.
pub(in crate::runtime) fn patience(usual: i64) -> i64 {
    percent_of(&PATIENCE, usual)
}

/// Scales a slow period: of the looks at deadlocks, at the limits of the control group, at memory
/// that nobody has needed. Returns `GODEBUG=period` percent of `usual`, in nanoseconds. Tests need
/// less.
pub(crate) fn period(usual: i64) -> i64 {
    percent_of(&PERIOD, usual)
}

/// A setting of 0 or less counts as 1 percent.
fn percent_of(setting: &Setting, usual: i64) -> i64 {
    (usual / 100).saturating_mul(setting.get().max(1).into())
}

/// Whether the run queues put goroutines in a random order, which finds races that a regular order
/// hides. Go's `randomizeScheduler`, a constant there.
#[inline(always)]
pub(in crate::runtime) fn randomize_scheduler() -> bool {
    RANDOMIZE_SCHEDULER.get() > 0
}

/// Returns the nanoseconds between two reports of [`schedtrace`](crate::proc::schedtrace); none if
/// it doesn't report. Go's `schedtrace` is in milliseconds.
pub(in crate::runtime) fn sched_trace() -> Option<i64> {
    let milliseconds = SCHED_TRACE.get();
    (milliseconds > 0).then(|| i64::from(milliseconds) * 1_000_000)
}

/// Whether `schedtrace` reports every P, M and G. Go's `scheddetail`.
pub(in crate::runtime) fn sched_detail() -> bool {
    SCHED_DETAIL.get() > 0
}

/// Whether each check of a copying stack moves the stack, even if there is room. So an address of
/// the stack that no move adjusts is soon found to be wrong.
#[inline(always)]
pub(in crate::runtime) fn stack_force_move() -> bool {
    STACK_FORCE_MOVE.get() > 0
}

/// Whether a G that ends frees its segment at once.
pub(in crate::runtime) fn stack_keep_off() -> bool {
    STACK_KEEP.get() == 0
}

/// Whether each move of a stack ends with a search for words that still point into the old stack.
pub(in crate::runtime) fn stack_verify() -> bool {
    STACK_VERIFY.get() > 0
}

/// Whether waits of std's block their threads, whatever the program says.
#[cfg(feature = "std")]
pub(in crate::runtime) fn std_park_off() -> bool {
    STD_PARK.get() == 0
}

/// Whether threads are threads, whatever the program says.
#[cfg(feature = "threads")]
pub(in crate::runtime) fn threads_off() -> bool {
    THREADS.get() == 0
}

/// Returns how many ancestors of a goroutine are kept: its maker, the maker's maker, and so on.
/// Go's `tracebackancestors`.
#[inline(always)]
pub(in crate::runtime) fn traceback_ancestors() -> usize {
    TRACEBACK_ANCESTORS.get().max(0) as usize
}

/// Whether headers of goroutines have their labels. Go's `tracebacklabels`.
pub(in crate::runtime) fn traceback_labels() -> bool {
    TRACEBACK_LABELS.get() > 0
}

/// Whether GOMAXPROCS stays as it was at first, though the default changes. Go's `updatemaxprocs`,
/// since 1.25.
pub(in crate::runtime) fn update_maxprocs_off() -> bool {
    UPDATE_MAXPROCS.get() == 0
}

/// Reads `GODEBUG`, `name=value` pairs separated by commas, and `GOTRACEBACK`. As in Go, unknown
/// names are ignored, and values that are neither numbers nor words of the setting. Go's
/// `parsedebugvars`.
pub(in crate::runtime) fn parsedebugvars() {
    // One setting that isn't text, as a path needn't be, doesn't spoil the others.
    let godebug = env::var_os("GODEBUG").unwrap_or_default();
    let godebug = godebug.to_string_lossy();
    for (name, value) in godebug.split(',').filter_map(|pair| pair.split_once('=')) {
        let setting = SETTINGS.iter().find(|setting| setting.name == name);
        if let Some((setting, value)) = setting.and_then(|setting| Some((setting, setting.parse(value)?))) {
            setting.value.store(value, Ordering::Relaxed);
        }
    }
    if let Some(level) = env::var("GOTRACEBACK").ok().and_then(|level| Traceback::named(&level)) {
        TRACEBACK_ENV.store(level.bits(), Ordering::Relaxed);
        set_traceback(level);
    }
}

/// Returns the value of a setting of `GODEBUG` that is a path.
pub(in crate::runtime) fn path_setting(name: &str) -> Option<PathBuf> {
    let godebug = env::var_os("GODEBUG")?;
    let mut settings = godebug.as_bytes().split(|&byte| byte == b',');
    let path = settings.find_map(|setting| setting.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(PathBuf::from(OsStr::from_bytes(path)))
}

/// How much a report of a fatal error prints, and how much
/// [`dump_goroutines`](crate::dump_goroutines) prints of each goroutine. The values of
/// `GOTRACEBACK`.
///
/// ```
/// use gosched::Traceback;
///
/// // Files with core dumps are wanted of what is developed, short reports of the rest.
/// gosched::set_traceback(if cfg!(debug_assertions) { Traceback::Crash } else { Traceback::Single });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Traceback {
    /// No stacks.
    None,
    /// The stack of the goroutine that failed. If the error isn't a single goroutine's, as with
    /// most fatal errors, the stack of every goroutine.
    #[default]
    Single,
    /// The stack of every goroutine.
    All,
    /// As `All`, with the frames of the runtime itself.
    System,
    /// As `System`, and the process ends with SIGABRT, which leaves a core dump where the system
    /// wants one.
    Crash,
}

/// The bits of [`TRACEBACK_CACHE`], and the shift of the number of `frames`, as in Go.
const TRACEBACK_CRASH: u32 = 1;
const TRACEBACK_ALL: u32 = 2;
const TRACEBACK_SHIFT: u32 = 2;

/// The level that is set. Go's `traceback_cache`.
static TRACEBACK_CACHE: AtomicU32 = AtomicU32::new(1 << TRACEBACK_SHIFT);

/// The level that the environment asks for. No call sets a lower level. Go's `traceback_env`.
static TRACEBACK_ENV: AtomicU32 = AtomicU32::new(0);

impl Traceback {
    fn named(name: &str) -> Option<Traceback> {
        Some(match name {
            "none" | "0" => Traceback::None,
            "single" | "" => Traceback::Single,
            "all" | "1" => Traceback::All,
            "system" | "2" => Traceback::System,
            "crash" => Traceback::Crash,
            _ => return None,
        })
    }

    fn bits(self) -> u32 {
        match self {
            Traceback::None => 0,
            Traceback::Single => 1 << TRACEBACK_SHIFT,
            Traceback::All => 1 << TRACEBACK_SHIFT | TRACEBACK_ALL,
            Traceback::System => 2 << TRACEBACK_SHIFT | TRACEBACK_ALL,
            Traceback::Crash => 2 << TRACEBACK_SHIFT | TRACEBACK_ALL | TRACEBACK_CRASH,
        }
    }
}

/// Sets how much reports print, but no less than `GOTRACEBACK` asks for. Go's `debug.SetTraceback`.
///
/// ```
/// use gosched::Traceback;
///
/// gosched::set_traceback(Traceback::All);
/// gosched::run(|| {
///     let mut report = Vec::new();
///     gosched::dump_goroutines(&mut report).unwrap();
///     assert!(report.starts_with(b"goroutine "));
/// });
/// ```
pub fn set_traceback(level: Traceback) {
    TRACEBACK_CACHE.store(level.bits() | TRACEBACK_ENV.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// The result of [`gotraceback`].
pub(in crate::runtime) struct Gotraceback {
    /// 0 for no frames, 1 for the program's, 2 for the runtime's, too.
    pub(in crate::runtime) frames: u32,
    /// Every goroutine is printed: the setting says so, or the error is the whole program's.
    pub(in crate::runtime) all: bool,
    /// Every goroutine is printed because the setting says so.
    pub(in crate::runtime) always_all: bool,
    /// The process ends with SIGABRT.
    pub(in crate::runtime) crash: bool,
}

/// Returns how much a report prints now. Go's `gotraceback`.
pub(in crate::runtime) fn gotraceback() -> Gotraceback {
    let set = TRACEBACK_CACHE.load(Ordering::Relaxed);
    let mp = this_m();
    let throwing = mp.map_or(0, |mp| mp.throwing.get());
    let mut frames = set >> TRACEBACK_SHIFT;
    match mp.map_or(0, |mp| mp.traceback.get()) {
        0 if throwing >= ThrowType::Runtime as u32 => frames = 2,
        0 => {}
        own => frames = own.into(),
    }
    let always_all = set & TRACEBACK_ALL != 0;
    Gotraceback {
        frames,
        // A thread that isn't ours has no single goroutine to show.
        all: always_all || throwing >= ThrowType::User as u32 || mp.is_none(),
        always_all,
        crash: set & TRACEBACK_CRASH != 0,
    }
}

/// Returns the number of P's that `GOMAXPROCS` asks for. Returns none if it isn't a positive
/// number, which Go ignores too, or is more than the maximum.
pub(in crate::runtime) fn gomaxprocs_from_env() -> Option<i32> {
    let value = env::var("GOMAXPROCS").ok()?;
    if !value.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    value.parse().ok().filter(|n| (1..=MAX_GOMAXPROCS).contains(n))
}
