//! Settings from the environment: Go's `runtime1.go` and `GODEBUG`.

use std::env;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use crate::panic::ThrowType;
use crate::proc::m::this_m;
use crate::proc::procresize::MAX_GOMAXPROCS;

/// A name that `GODEBUG` may give a value, and the value.
struct Setting {
    name: &'static str,
    value: AtomicI32,
}

impl Setting {
    const fn new(name: &'static str, default: i32) -> Self {
        Setting { name, value: AtomicI32::new(default) }
    }

    #[inline(always)]
    fn get(&self) -> i32 {
        self.value.load(Ordering::Relaxed)
    }
}

static ASYNC_PREEMPT_OFF: Setting = Setting::new("asyncpreemptoff", 0);
static CONTAINER_MAXPROCS: Setting = Setting::new("containermaxprocs", 1);
static EFENCE: Setting = Setting::new("efence", 0);
static GC_SHRINK_STACK_OFF: Setting = Setting::new("gcshrinkstackoff", 0);
static RANDOMIZE_SCHEDULER: Setting = Setting::new("randomizescheduler", 0);
static SCHED_DETAIL: Setting = Setting::new("scheddetail", 0);
static SCHED_TRACE: Setting = Setting::new("schedtrace", 0);
static STACK_FORCE_MOVE: Setting = Setting::new("stackforcemove", 0);
static STACK_KEEP: Setting = Setting::new("stackkeep", 1);
static STACK_VERIFY: Setting = Setting::new("stackverify", 0);
static TRACEBACK_ANCESTORS: Setting = Setting::new("tracebackancestors", 0);

static SETTINGS: [&Setting; 11] = [
    &ASYNC_PREEMPT_OFF,
    &CONTAINER_MAXPROCS,
    &EFENCE,
    &GC_SHRINK_STACK_OFF,
    &RANDOMIZE_SCHEDULER,
    &SCHED_DETAIL,
    &SCHED_TRACE,
    &STACK_FORCE_MOVE,
    &STACK_KEEP,
    &STACK_VERIFY,
    &TRACEBACK_ANCESTORS,
];

/// Whether goroutines are stopped at their checks only. Go's `asyncpreemptoff`.
pub(crate) fn async_preempt_off() -> bool {
    ASYNC_PREEMPT_OFF.get() > 0
}

/// Whether the default of GOMAXPROCS ignores the limit of the control group. Go's
/// `containermaxprocs`, since 1.25.
pub(crate) fn container_maxprocs_off() -> bool {
    CONTAINER_MAXPROCS.get() == 0
}

/// Whether a freed segment becomes inaccessible for good, and a home page that a stack has left
/// is filled with [`POISON`](crate::stack::POISON). Go's `efence`, with its `stackPoisonCopy`.
pub(crate) fn efence() -> bool {
    EFENCE.get() > 0
}

/// Whether stacks never shrink. Go's `gcshrinkstackoff`.
pub(crate) fn gc_shrink_stack_off() -> bool {
    GC_SHRINK_STACK_OFF.get() > 0
}

/// Whether the run queues put goroutines in a random order, which finds races that
/// a tidy order hides. Go's `randomizeScheduler`, a constant there.
#[inline(always)]
pub(crate) fn randomize_scheduler() -> bool {
    RANDOMIZE_SCHEDULER.get() > 0
}

/// Each how many nanoseconds [`schedtrace`](crate::proc::schedtrace::schedtrace) reports, if it does. Go's
/// `schedtrace`, in milliseconds.
pub(crate) fn sched_trace() -> Option<i64> {
    let milliseconds = SCHED_TRACE.get();
    (milliseconds > 0).then(|| i64::from(milliseconds) * 1_000_000)
}

/// Whether it reports every P, M and G. Go's `scheddetail`.
pub(crate) fn sched_detail() -> bool {
    SCHED_DETAIL.get() > 0
}

/// Whether each check of a copying stack moves it, room or no room: an address that is kept
/// where no move finds it is soon a wrong one.
#[inline(always)]
pub(crate) fn stack_force_move() -> bool {
    STACK_FORCE_MOVE.get() > 0
}

/// Whether a G that ends gives its grown stack back at once.
pub(crate) fn stack_keep_off() -> bool {
    STACK_KEEP.get() == 0
}

/// Whether each move of a stack ends with a search for words that still point into the old one.
pub(crate) fn stack_verify() -> bool {
    STACK_VERIFY.get() > 0
}

/// How many makers of makers are kept with a goroutine. Go's `tracebackancestors`.
#[inline(always)]
pub(crate) fn traceback_ancestors() -> usize {
    TRACEBACK_ANCESTORS.get().max(0) as usize
}

/// Reads `GODEBUG`: `name=value` pairs, separated by commas. A name that isn't
/// known is ignored, as Go does, and what isn't a number. Go's `parsedebugvars`.
pub(crate) fn parsedebugvars() {
    let godebug = env::var("GODEBUG").unwrap_or_default();
    for (name, value) in godebug.split(',').filter_map(|pair| pair.split_once('=')) {
        let setting = SETTINGS.iter().find(|setting| setting.name == name);
        if let (Some(setting), Ok(value)) = (setting, value.parse()) {
            setting.value.store(value, Ordering::Relaxed);
        }
    }
    if let Some(level) = env::var("GOTRACEBACK").ok().and_then(|level| Traceback::named(&level)) {
        TRACEBACK_ENV.store(level.bits(), Ordering::Relaxed);
        set_traceback(level);
    }
}

/// How much a report of a fatal error prints, and [`dump_goroutines`](crate::dump_goroutines) of each goroutine.
/// The values of `GOTRACEBACK`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Traceback {
    /// No stacks.
    None,
    /// That of the goroutine that failed, or of every goroutine if there is none such: most fatal errors are
    /// the whole program's.
    #[default]
    Single,
    /// That of every goroutine.
    All,
    /// As `All`, with the frames of the runtime itself.
    System,
    /// As `System`, and the process ends with SIGABRT, which leaves a core dump where the system wants one.
    Crash,
}

/// Bits of [`TRACEBACK_CACHE`], and how far the level is shifted, as in Go.
const TRACEBACK_CRASH: u32 = 1;
const TRACEBACK_ALL: u32 = 2;
const TRACEBACK_SHIFT: u32 = 2;

/// What is set. Go's `traceback_cache`.
static TRACEBACK_CACHE: AtomicU32 = AtomicU32::new(1 << TRACEBACK_SHIFT);

/// What the environment has set: that, at least. Go's `traceback_env`.
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

/// Sets how much reports print; not less than `GOTRACEBACK` asks for. Go's `debug.SetTraceback`.
pub fn set_traceback(level: Traceback) {
    TRACEBACK_CACHE.store(level.bits() | TRACEBACK_ENV.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// What [`gotraceback`] returns.
pub(crate) struct Gotraceback {
    /// 0 for no frames, 1 for the program's, 2 for the runtime's, too.
    pub(crate) frames: u32,
    pub(crate) all: bool,
    /// `all` is what the setting says, whatever has happened.
    pub(crate) always_all: bool,
    pub(crate) crash: bool,
}

/// How much is to be printed now. Go's `gotraceback`.
pub(crate) fn gotraceback() -> Gotraceback {
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
        // A thread that isn't ours has no goroutine to show instead.
        all: always_all || throwing >= ThrowType::User as u32 || mp.is_none(),
        always_all,
        crash: set & TRACEBACK_CRASH != 0,
    }
}

/// The number of P's that `GOMAXPROCS` asks for; none if it isn't a positive number, which Go
/// ignores too, or more than there can be.
pub(crate) fn gomaxprocs_from_env() -> Option<i32> {
    let value = env::var("GOMAXPROCS").ok()?;
    if !value.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    value.parse().ok().filter(|n| (1..=MAX_GOMAXPROCS).contains(n))
}
