//! A goroutine loses its P before any instruction of any operation, and the operation's result is
//! right all the same.
//!
//! A moment has room for some of an operation's instructions, different ones each time.
//! `STRESS_SECONDS` sets its length. Unless all tests run whole, a test takes a quarter of its
//! operations, different ones each time.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gosched::{go, run, yield_now};

use super::operations::{Operation, chans, contexts, futures, goroutines, io, locks, raw, timers, world};
use super::stepper::{self, breakpoint};
use super::trace::Step;
use crate::harness::rng::{Rng, number};
use crate::harness::{Test, Tests, tests};

tests! {
    #[slow] of_channels
    #[slow] of_contexts
    #[slow] of_futures
    #[slow] of_goroutines
    #[slow] of_locks
    #[slow] of_timers
    #[slow] of_sockets_and_signals
    #[slow] of_the_raw_layer
    #[slow] of_the_whole_world
}

/// How long an operation's instructions are tried, alone, and beside another goroutine.
const MOMENT: Duration = Duration::from_millis(50);

/// The least number of instructions to try.
const LEAST: usize = 3;

/// The time without progress after which [`watch`] prints a report.
const LONG: Duration = Duration::from_secs(60);

/// The current operation and step, for [`watch`].
static DOING: Mutex<(&str, Step)> = Mutex::new(("", Step { pc: 0, nth: 0 }));
static DONE: AtomicUsize = AtomicUsize::new(0);

/// Prints the process's position when nothing has happened for long. The test goes on: it may be
/// slow, and the harness ends tests that hang.
fn watch() {
    let (mut seen, mut since) = (0, Instant::now());
    loop {
        thread::sleep(Duration::from_millis(100));
        let done = DONE.load(Ordering::Relaxed);
        if done != seen {
            (seen, since) = (done, Instant::now());
        } else if since.elapsed() > LONG {
            tell("no progress for a minute");
            since = Instant::now();
        }
    }
}

/// Prints where it went wrong, as an address in the binary on disk.
fn tell(what: &str) {
    let (name, step) = *DOING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    // SAFETY: reads a number. The program headers follow the file header.
    let begin = unsafe { libc::getauxval(libc::AT_PHDR) } as usize - 64;
    eprintln!("{what}: {name}, signalled before {:#x}, time {}", step.pc.wrapping_sub(begin), step.nth);
}

/// Returns the steps in random order, but begins with one step of each instruction: loops come
/// after everything else.
fn shuffled(steps: &[Step], rng: &mut Rng) -> Vec<Step> {
    let mut steps = steps.to_vec();
    for i in (1..steps.len()).rev() {
        steps.swap(i, rng.below(i + 1));
    }
    let mut seen = HashSet::new();
    let (mut first, others): (Vec<_>, Vec<_>) = steps.into_iter().partition(|step| seen.insert(step.pc));
    first.extend(others);
    first
}

/// Returns the operations in random order; only a quarter of them, unless all tests run whole.
fn some(mut operations: Vec<Operation>, rng: &mut Rng) -> Vec<Operation> {
    for i in (1..operations.len()).rev() {
        operations.swap(i, rng.below(i + 1));
    }
    if Tests::said() != Tests::All {
        operations.truncate(operations.len().div_ceil(4));
    }
    operations
}

/// Does the operation with a signal before each of its instructions, as far as there is time, and
/// prints the result.
fn step_through(operation: Operation, rng: &mut Rng, moment: Duration) {
    let (name, mut once) = operation;
    let doing = |step| {
        *DOING.lock().unwrap() = (name, step);
        DONE.fetch_add(1, Ordering::Relaxed);
    };
    doing(Step { pc: 0, nth: 0 });
    // Some things are made the first time only.
    (0..3).for_each(|_| once());
    // Recording slows the operation down, so it may take paths that it doesn't take otherwise.
    let steps =
        [(); 2].map(|()| stepper::record(&mut once)).into_iter().min_by_key(Vec::len).unwrap_or_default();
    assert!(!steps.is_empty(), "{name} has no instructions");
    eprint!("{name}: {} instructions", steps.len());
    let mut fire_all = |wanted: &str| {
        let (before, since) = (stepper::detached(), Instant::now());
        let (mut tried, mut fired) = (0, 0);
        for step in shuffled(&steps, rng) {
            if tried >= LEAST && since.elapsed() >= moment {
                break;
            }
            doing(step);
            tried += 1;
            fired += usize::from(stepper::fire(step, &mut once));
        }
        let detached = stepper::detached() - before;
        eprint!("; {wanted} {tried} tried, {fired} signalled, {detached} detached");
    };
    fire_all("alone");
    while_another_runs(|| fire_all("beside another"));
    eprintln!();
}

/// Calls `f` while another goroutine wants the P, too.
fn while_another_runs(f: impl FnOnce()) {
    static OVER: AtomicBool = AtomicBool::new(false);
    OVER.store(false, Ordering::Relaxed);
    let other = go(|| {
        while !OVER.load(Ordering::Relaxed) {
            yield_now();
        }
    });
    f();
    OVER.store(true, Ordering::Relaxed);
    other.join().unwrap();
}

/// Runs all operations, one after the other, on one P.
fn each_instruction(test: Test, operations: fn() -> Vec<Operation>) {
    if let Err(error) = breakpoint(test.f as usize, 1) {
        assert!(std::env::var_os("GOSCHED_REQUIRE_TOOLS").is_none(), "no breakpoints: {error}");
        return test.skip(&format!("there are no breakpoints here ({error})"));
    }
    let process = test.process(|| {
        let mut rng = Rng::seeded();
        let moment = number("STRESS_SECONDS").map_or(MOMENT, Duration::from_secs);
        thread::spawn(watch);
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            tell("fails");
            print(info);
        }));
        stepper::install();
        run(|| {
            for operation in some(operations(), &mut rng) {
                step_through(operation, &mut rng, moment);
            }
        });
        eprintln!("{} detachments", stepper::detached());
    });
    let ended = process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=3").end();
    ended.with("exit status: 0");
    eprint!("{}", ended.stderr);
}

macro_rules! of {
    ($($test:ident $operations:ident)*) => {
        $(
            fn $test(test: Test) {
                each_instruction(test, $operations::all);
            }
        )*
    };
}

of! {
    of_channels chans
    of_contexts contexts
    of_futures futures
    of_goroutines goroutines
    of_locks locks
    of_timers timers
    of_sockets_and_signals io
    of_the_raw_layer raw
    of_the_whole_world world
}
