//! A goroutine that loses its P before any instruction of any operation: its result is right all
//! the same.
//!
//! A moment has room for some of an operation's instructions, other ones each time.
//! `STRESS_SECONDS` makes it as long. Unless all tests run whole, a test takes a quarter of its
//! operations, other ones each time.

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

/// How long instructions of an operation are tried, alone, and beside another goroutine.
const MOMENT: Duration = Duration::from_millis(50);

/// How many are tried at least.
const LEAST: usize = 3;

/// After how long without progress [`watch`] says so.
const LONG: Duration = Duration::from_secs(60);

/// What goes on, for the one who watches.
static DOING: Mutex<(&str, Step)> = Mutex::new(("", Step { pc: 0, nth: 0 }));
static DONE: AtomicUsize = AtomicUsize::new(0);

/// Says where the process is when nothing has happened for long. It goes on: it may be slow, and
/// what hangs is ended by the harness.
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

/// Says where it went wrong: the address is one of the binary's on disk.
fn tell(what: &str) {
    let (name, step) = *DOING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    // SAFETY: reads a number. The headers of the program are behind that of the file.
    let begin = unsafe { libc::getauxval(libc::AT_PHDR) } as usize - 64;
    eprintln!("{what}: {name}, signalled before {:#x}, time {}", step.pc.wrapping_sub(begin), step.nth);
}

/// The steps in any order, but first one of each instruction: a loop has its turn when all else has
/// had one.
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

/// The operations in any order; a quarter of them, unless all tests run whole.
fn some(mut operations: Vec<Operation>, rng: &mut Rng) -> Vec<Operation> {
    for i in (1..operations.len()).rev() {
        operations.swap(i, rng.below(i + 1));
    }
    if Tests::said() != Tests::All {
        operations.truncate(operations.len().div_ceil(4));
    }
    operations
}

/// Does it with a signal before each of its instructions, as far as there is time, and says what
/// came of it.
fn step_through(operation: Operation, rng: &mut Rng, moment: Duration) {
    let (name, mut once) = operation;
    let doing = |step| {
        *DOING.lock().unwrap() = (name, step);
        DONE.fetch_add(1, Ordering::Relaxed);
    };
    doing(Step { pc: 0, nth: 0 });
    // What is made at the first time isn't made at the others.
    (0..3).for_each(|_| once());
    // While it is recorded it is slow, and may meet what it doesn't meet otherwise.
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

/// All operations, each in its turn, on one P.
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
