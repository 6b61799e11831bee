//! Settings from the environment: Go's `runtime1.go` and `GODEBUG`.

use std::env;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::proc::procresize::MAX_GOMAXPROCS;

/// A name that `GODEBUG` may give a value.
struct Setting {
    name: &'static str,
    /// The value that sets it.
    value: &'static str,
    set: AtomicBool,
}

impl Setting {
    const fn new(name: &'static str, value: &'static str) -> Self {
        Setting { name, value, set: AtomicBool::new(false) }
    }

    #[inline(always)]
    fn is_set(&self) -> bool {
        self.set.load(Ordering::Relaxed)
    }
}

static ASYNC_PREEMPT_OFF: Setting = Setting::new("asyncpreemptoff", "1");
static CONTAINER_MAXPROCS_OFF: Setting = Setting::new("containermaxprocs", "0");
static EFENCE: Setting = Setting::new("efence", "1");
static GC_SHRINK_STACK_OFF: Setting = Setting::new("gcshrinkstackoff", "1");
static RANDOMIZE_SCHEDULER: Setting = Setting::new("randomizescheduler", "1");
static STACK_FORCE_MOVE: Setting = Setting::new("stackforcemove", "1");
static STACK_KEEP_OFF: Setting = Setting::new("stackkeep", "0");
static STACK_VERIFY: Setting = Setting::new("stackverify", "1");

static SETTINGS: [&Setting; 8] = [
    &ASYNC_PREEMPT_OFF,
    &CONTAINER_MAXPROCS_OFF,
    &EFENCE,
    &GC_SHRINK_STACK_OFF,
    &RANDOMIZE_SCHEDULER,
    &STACK_FORCE_MOVE,
    &STACK_KEEP_OFF,
    &STACK_VERIFY,
];

/// Whether goroutines are stopped at their checks only. Go's `asyncpreemptoff`.
pub(crate) fn async_preempt_off() -> bool {
    ASYNC_PREEMPT_OFF.is_set()
}

/// Whether the default of GOMAXPROCS ignores the limit of the control group. Go's
/// `containermaxprocs`, since 1.25.
pub(crate) fn container_maxprocs_off() -> bool {
    CONTAINER_MAXPROCS_OFF.is_set()
}

/// Whether a freed segment becomes inaccessible for good, and a home page that a stack has left
/// is filled with [`POISON`](crate::stack::POISON). Go's `efence`, with its `stackPoisonCopy`.
pub(crate) fn efence() -> bool {
    EFENCE.is_set()
}

/// Whether stacks never shrink. Go's `gcshrinkstackoff`.
pub(crate) fn gc_shrink_stack_off() -> bool {
    GC_SHRINK_STACK_OFF.is_set()
}

/// Whether the run queues put goroutines in a random order, which finds races that
/// a tidy order hides. Go's `randomizeScheduler`, a constant there.
#[inline(always)]
pub(crate) fn randomize_scheduler() -> bool {
    RANDOMIZE_SCHEDULER.is_set()
}

/// Whether each check of a copying stack moves it, room or no room: an address that is kept
/// where no move finds it is soon a wrong one.
#[inline(always)]
pub(crate) fn stack_force_move() -> bool {
    STACK_FORCE_MOVE.is_set()
}

/// Whether a G that ends gives its grown stack back at once.
pub(crate) fn stack_keep_off() -> bool {
    STACK_KEEP_OFF.is_set()
}

/// Whether each move of a stack ends with a search for words that still point into the old one.
pub(crate) fn stack_verify() -> bool {
    STACK_VERIFY.is_set()
}

/// Reads `GODEBUG`: `name=value` pairs, separated by commas. A name that isn't
/// known is ignored, as Go does. Go's `parsedebugvars`.
pub(crate) fn parsedebugvars() {
    let godebug = env::var("GODEBUG").unwrap_or_default();
    for (name, value) in godebug.split(',').filter_map(|pair| pair.split_once('=')) {
        if let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) {
            setting.set.store(value == setting.value, Ordering::Relaxed);
        }
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
