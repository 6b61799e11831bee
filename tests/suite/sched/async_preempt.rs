//! Goroutines that are stopped at any instruction. When they go on, each register has its value
//! again, and nobody has written to their part of the stack. Meanwhile a collector finds all of
//! these values.
//!
//! For a long run, set `STRESS_SECONDS`, the time of each test. Then each instruction of the loop
//! in assembly must have been interrupted once.

use std::collections::BTreeSet;
use std::env;
use std::ffi::c_void;
use std::process::Command;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gosched::proc::{self, Hooks};
use gosched::runtime2::{G, P};
use gosched::sync::WaitGroup;
use gosched::{go, preemptible};

use crate::asm::every_register::{Held, Stops, Vectors, code, held, instructions};
use crate::harness::asked::run_asked;
use crate::harness::rng::{Rng, number};
use crate::harness::{Test, rounds, tests};

tests! {
    on_fixed_stacks
    on_copying_stacks
    on_stacks_that_always_move
    in_an_emulator_whose_handlers_have_a_stack_that_is_not_aligned
}

/// The work of a goroutine.
#[derive(Clone, Copy)]
enum Work {
    /// Holds registers in a loop in assembly.
    Hold(Stops),
    /// Computes, in Rust.
    Compute,
}

const WORK: [Work; 6] = [
    Work::Hold(Stops::Anywhere),
    Work::Hold(Stops::Anywhere),
    Work::Hold(Stops::Anywhere),
    Work::Hold(Stops::AtChecks),
    Work::Compute,
    Work::Compute,
];

/// The index of the goroutine that stops at checks.
const AT_CHECKS: usize = 3;

/// The rounds of a loop: enough to be interrupted in it.
const ROUNDS: u64 = 10_000;

/// The preemptions after which a test ends, without `STRESS_SECONDS`.
const ENOUGH: usize = 2_000;

/// The goroutines.
static GS: [AtomicPtr<G>; WORK.len()] = [const { AtomicPtr::new(ptr::null_mut()) }; WORK.len()];
static OVER: AtomicBool = AtomicBool::new(false);
static RUNNING: WaitGroup = WaitGroup::new();
/// The number of loops with the right result.
static LOOPS: AtomicUsize = AtomicUsize::new(0);

/// The values that a goroutine loads, and those that it finds.
struct Task {
    number: usize,
    rng: Rng,
    vectors: Vectors,
    stops: Stops,
    load: Held,
    found: Held,
}

/// Calls `f` on g0, where there is room.
fn with<R>(task: *mut c_void, f: impl FnOnce(&mut Task) -> R) -> R {
    // SAFETY: the task is this goroutine's, and the closures don't park.
    unsafe { proc::systemstack(|| f(&mut *task.cast::<Task>())) }
}

/// Runs `turn` again and again until all is over.
unsafe fn until_over(task: *mut c_void, turn: fn(*mut c_void)) {
    GS[with(task, |task| task.number)].store(proc::getg(), Ordering::Release);
    while !OVER.load(Ordering::Relaxed) {
        turn(task);
        LOOPS.fetch_add(1, Ordering::Relaxed);
    }
    RUNNING.done();
}

/// Holds all registers, in assembly.
unsafe extern "C" fn hold(task: *mut c_void) {
    let turn = |task| {
        let (f, load, found) = with(task, |task| {
            task.load = Held::random(&mut task.rng, task.vectors, task.stops, ROUNDS);
            task.found = task.load.clone();
            (held(task.vectors, task.stops), &raw const task.load, &raw mut task.found)
        });
        // SAFETY: the processor has these registers; the loop keeps the ABI.
        unsafe { f(load, found) };
        with(task, |task| task.load.check(&task.found));
    };
    // SAFETY: on a goroutine.
    unsafe { until_over(task, turn) }
}

/// Computes with integers and floating-point numbers, as the compiler keeps them.
#[inline(always)]
fn mix(mut x: u64) -> (u64, f64) {
    let (mut sum, mut scale, mut words) = (0.0, 1.0, [x; 8]);
    for round in 0..ROUNDS {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        words.iter_mut().for_each(|word| *word = word.wrapping_mul(5).wrapping_add(x));
        sum += (x >> 40) as f64 * scale;
        scale = if round.is_multiple_of(64) { 1.0 } else { scale * 1.001 };
    }
    (words.iter().fold(x, |all, word| all ^ word), sum)
}

preemptible! {
    unsafe fn mix_preemptibly(x: u64) -> (u64, f64) {
        mix(x)
    }
}

/// Computes with many values, as the compiler keeps them.
unsafe extern "C" fn compute(task: *mut c_void) {
    let turn = |task| {
        let x = with(task, |task| task.rng.next());
        // SAFETY: the function doesn't depend on a thread.
        let found = unsafe { mix_preemptibly(x) };
        if with(task, |_| found != mix(x)) {
            proc::throw("a computation that was preempted is wrong");
        }
    };
    // SAFETY: on a goroutine.
    unsafe { until_over(task, turn) }
}

/// All P's.
static PS: Mutex<Vec<&'static AtomicPtr<P>>> = Mutex::new(Vec::new());

fn p_init(pp: &P) {
    let pp = Box::leak(Box::new(AtomicPtr::new(ptr::from_ref(pp).cast_mut())));
    PS.lock().unwrap().push(pp);
}

/// Returns how often a goroutine got a time slice: as nobody ever parks here, each slice ended by a
/// preemption.
fn slices() -> u32 {
    // SAFETY: P's are never freed.
    let tick =
        |pp: &&AtomicPtr<P>| unsafe { (*pp.load(Ordering::Relaxed)).schedtick.load(Ordering::Relaxed) };
    PS.lock().unwrap().iter().map(tick).sum()
}

/// The states of goroutines when they were suspended.
#[derive(Default)]
struct Places {
    /// The instructions at which they were interrupted.
    pcs: BTreeSet<usize>,
    /// The number that were stopped at a check.
    at_checks: usize,
}

impl Places {
    /// Returns whether some of each kind were suspended.
    fn of_each_kind(&self) -> bool {
        self.at_checks > 0
            && self.pcs.iter().any(|pc| code().contains(pc))
            && self.pcs.iter().any(|pc| !code().contains(pc))
    }
}

/// Fails unless a scan of `gp`, which runs a loop that holds `held`, finds the values that are
/// there at each instruction.
///
/// # Safety
/// As [`proc::scan_stack`].
unsafe fn finds(gp: *mut G, held: &Held) {
    let mut missing = held.kept();
    let word = |at| ptr::with_exposed_provenance::<u64>(at);
    // SAFETY: the caller's; what is scanned can be read.
    unsafe {
        proc::scan_stack(gp, |range| {
            range.step_by(8).for_each(|at| _ = missing.remove(&word(at).read_volatile()));
        });
    }
    assert!(missing.is_empty(), "a scan missed {missing:x?} of {held:x?}");
}

/// Suspends goroutines, notes where they are, and scans those in a loop, until `enough`.
fn suspend_some(tasks: &[usize], rng: &mut Rng, enough: impl Fn(&Places) -> bool) -> Places {
    let mut places = Places::default();
    while !enough(&places) {
        // The goroutine with checks is seldom met at one, so it is looked at more often until it
        // was.
        let number = if places.at_checks == 0 && rng.below(2) == 0 { AT_CHECKS } else { rng.below(GS.len()) };
        let gp = GS[number].load(Ordering::Acquire);
        if !gp.is_null() {
            // SAFETY: on a foreign thread, for a goroutine that ends after this. preempt.S
            // describes the stack of an interrupted goroutine.
            unsafe {
                let state = proc::suspend_g(gp);
                let task = &*ptr::with_exposed_provenance::<Task>(tasks[number]);
                let mut in_loop = false;
                if (*gp).async_safe_point.get() {
                    let bp = (*gp).sched.bp.get();
                    let pc = ptr::with_exposed_provenance::<usize>(bp + 8).read();
                    in_loop = instructions(task.vectors).contains(&pc);
                    places.pcs.insert(pc);
                } else if state.stopped {
                    in_loop = true;
                    places.at_checks += 1;
                }
                if in_loop {
                    finds(gp, &task.load);
                }
                proc::resume_g(state);
            }
        }
        thread::sleep(Duration::from_micros(50));
    }
    places
}

fn torture(copying: bool) {
    let mut rng = Rng::seeded();
    let vectors = Vectors::of_this_processor();
    let time = number("STRESS_SECONDS").map(Duration::from_secs);
    let enough = rounds(ENOUGH) as u32;
    // SAFETY: the loops don't depend on threads, and their code stays.
    let _registered = unsafe { proc::register_preemptible(code()) }.expect("it is registered once");
    // SAFETY: the hook neither parks nor panics.
    unsafe { proc::set_hooks(Hooks { p_init: Some(p_init), ..Hooks::default() }) };
    let task = |number| {
        // The processor's state grows with the registers in use: some goroutines use fewer.
        let vectors = if number == 0 { Vectors::LEAST } else { vectors };
        let stops = if let Work::Hold(stops) = WORK[number] { stops } else { Stops::Anywhere };
        let task = Task { number, rng: rng.fork(), vectors, stops, load: Held::zero(), found: Held::zero() };
        Box::into_raw(Box::new(task)).expose_provenance()
    };
    let tasks: Vec<usize> = (0..WORK.len()).map(task).collect();

    let Places { pcs, at_checks } = run_asked(|| {
        RUNNING.add(tasks.len() as u32);
        for (number, &task) in tasks.iter().enumerate() {
            let f = if let Work::Hold(_) = WORK[number] { hold } else { compute };
            let start = move || ptr::with_exposed_provenance_mut(task);
            if copying {
                // SAFETY: they need little stack and don't panic.
                unsafe { proc::newproc(Some(f), start()) };
            } else {
                // SAFETY: the task is that goroutine's.
                go(move || unsafe { f(start()) });
            }
        }
        let suspender = thread::spawn(move || {
            let begin = Instant::now();
            let over = || time.map_or_else(|| slices() >= enough, |time| begin.elapsed() >= time);
            let places = suspend_some(&tasks, &mut rng, |places| over() && places.of_each_kind());
            OVER.store(true, Ordering::Relaxed);
            places
        });
        RUNNING.wait();
        suspender.join().unwrap()
    });

    let instructions = instructions(vectors);
    let missing: Vec<_> = instructions.iter().filter(|pc| !pcs.contains(pc)).collect();
    eprintln!(
        "{vectors:?}: {} loops, {} time slices; suspended {at_checks} times at a check, and at {} places: all but {} \
         of the {} instructions of the loop",
        LOOPS.load(Ordering::Relaxed),
        slices(),
        pcs.len(),
        missing.len(),
        instructions.len(),
    );
    assert!(time.is_none() || missing.is_empty(), "never interrupted at {missing:x?}");
}

/// Prints the counts of a process.
fn show(test: Test, copying: bool, godebug: &str) {
    let ended = test.process(|| torture(copying)).env("GOMAXPROCS", "2").env("GODEBUG", godebug).end();
    ended.with("exit status: 0").says(" time slices");
    eprint!("{}", ended.stderr);
}

fn on_fixed_stacks(test: Test) {
    show(test, false, "");
}

fn on_copying_stacks(test: Test) {
    show(test, true, "");
}

fn on_stacks_that_always_move(test: Test) {
    show(test, true, "stackforcemove=1,efence=1,stackverify=1");
}

/// qemu 7.2 is such an emulator.
fn in_an_emulator_whose_handlers_have_a_stack_that_is_not_aligned(test: Test) {
    if test.skipped_in_emulator("there is another emulator") {
        return;
    }
    let process = test.process(|| {
        run_asked(|| {
            static OTHER_RAN: AtomicBool = AtomicBool::new(false);
            go(|| OTHER_RAN.store(true, Ordering::Relaxed));
            // SAFETY: no lock is held, and no thread-local in use.
            unsafe { wait_for(&OTHER_RAN) };
        });
    });
    let emulator = format!("qemu-{}", env::consts::ARCH);
    if Command::new(&emulator).arg("--version").output().is_err() {
        return test.skip(&format!("{emulator} is missing"));
    }
    // This is about one signal: with a signal every 20 µs, as `detach=2` has it, this emulator
    // hangs once in a hundred runs.
    let process = process.started_by(Command::new(emulator)).env("GOMAXPROCS", "1").env("GODEBUG", "");
    process.end().with("exit status: 0");
}

preemptible! {
    /// Runs until it was stopped, and another goroutine has set `flag`.
    unsafe fn wait_for(flag: &AtomicBool) {
        while !flag.load(Ordering::Relaxed) {}
    }
}
