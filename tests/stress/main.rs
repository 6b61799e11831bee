//! A stress test of everything at once. A seed decides its random choices. No value is lost,
//! nothing hangs, and no goroutine is left over.
//!
//! | variable | |
//! | --- | --- |
//! | `STRESS_SECONDS` | how many seconds each process runs: 1 by default; 300 is thorough |
//! | `STRESS_SEED` | the seed; by default a new one each time |
//! | `STRESS_LEAN` | if it is set, goroutines share the thread-locals of their threads |
//! | `STRESS_TRACES` | the folder for the first traces; it has an effect only with `GOMAXPROCS` |
//! | `GOMAXPROCS` | if it is set, this process runs the stress; otherwise several processes do |

mod blocked;
mod channels;
mod computing;
mod coros;
#[path = "../common/emulator.rs"]
mod emulator;
mod ledger;
mod locks;
mod panics;
#[path = "../common/rng.rs"]
mod random;
mod raw;
mod rng;
mod selects;
mod signals;
mod spawns;
mod stacks;
mod std_locks;
mod storms;
mod tally;
mod threads;
mod timers;
#[allow(dead_code, unused_imports, reason = "the suite asks for more")]
#[path = "../common/trace/mod.rs"]
mod trace_reader;
mod traces;
mod world;

use std::env;
use std::fs;
use std::panic;
use std::path::Path;
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use emulator::this_binary;
use rng::Rng;
use tally::{Op, count};
use trace_reader::{generations, read_whole_generations};

/// A function that a goroutine of the stress calls. It returns when everything that it has started
/// has ended.
type Scenario = fn(&mut Rng);

const SCENARIOS: [Scenario; 48] = [
    nested,
    channels::crowd,
    channels::requests,
    channels::ring,
    selects::mesh,
    selects::fan_in,
    selects::poll,
    locks::counter,
    locks::readers_and_writers,
    locks::queue,
    locks::permits,
    locks::rounds,
    locks::once,
    spawns::tree,
    spawns::dropped_handles,
    spawns::borrowers,
    spawns::large_results,
    spawns::locked_threads,
    spawns::memory_back,
    panics::joined,
    panics::parking_destructors,
    panics::failing_scopes,
    raw::hand_off,
    raw::words,
    raw::injected,
    stacks::dives,
    threads::outsiders,
    coros::wanders,
    coros::failing,
    coros::divers,
    world::stops,
    world::resizes,
    world::safe_points,
    world::syscalls,
    world::guests,
    world::hogs,
    timers::naps,
    timers::impatient,
    timers::fickle,
    timers::few_permits,
    computing::messages,
    computing::generators,
    computing::ends,
    storms::malloc,
    storms::stdio,
    traces::annotations,
    traces::cut,
    traces::flights,
];

/// Scenarios that ThreadSanitizer can't run. It doesn't see the order that std's locks establish.
/// And it delivers signals late, while some of these scenarios go on only when a signal has taken
/// the P of a goroutine that computes or blocks.
const NOT_WITH_TSAN: [Scenario; 12] = [
    signals::bursts,
    std_locks::counter,
    std_locks::readers_and_writers,
    std_locks::poisoned,
    std_locks::queue,
    std_locks::rounds,
    std_locks::kept_while_parked,
    blocked::sleeps,
    blocked::pipes,
    blocked::sockets,
    blocked::full_pipe,
    storms::println,
];

/// The longest time without progress.
const PATIENCE: Duration = Duration::from_secs(100);

/// The most threads that the process may have. A goroutine that has lost its P keeps its thread,
/// and std's threads count, too. A goroutine or thread that has ended holds none.
const MOST_THREADS: usize = 400;

/// Whether goroutines share the thread-locals of their threads by default.
fn lean() -> bool {
    env::var_os("STRESS_LEAN").is_some()
}

/// Runs `n` random scenarios at the same time, each on a goroutine of its own.
fn many(rng: &mut Rng, n: usize) {
    gosched::scope(|s| {
        for _ in 0..n {
            let mut rng = rng.fork();
            s.go(move || {
                assert!(!thread::panicking(), "a new goroutine has another one's panic");
                scenario(&mut rng)(&mut rng);
                count(Op::Scenario);
            });
        }
    });
}

fn scenario(rng: &mut Rng) -> Scenario {
    let others: &[Scenario] = if cfg!(tsan) { &[] } else { &NOT_WITH_TSAN };
    let n = rng.below(SCENARIOS.len() + others.len());
    SCENARIOS.get(n).copied().unwrap_or_else(|| others[n - SCENARIOS.len()])
}

fn nested(rng: &mut Rng) {
    many(rng, 3);
}

/// Calls `run` on two threads at once, and then waits until no goroutine is left.
fn round(rng: &mut Rng) {
    thread::scope(|s| {
        for mut rng in [rng.fork(), rng.fork()] {
            s.spawn(move || gosched::run(move || many(&mut rng, 16)));
        }
    });
    while gosched::num_goroutine() > 0 {
        thread::yield_now();
    }
    count(Op::Round);
}

/// Runs the stress in this process, which has the settings for it.
fn here(seed: u64, length: Duration) {
    // Scopes that fail on purpose print nothing.
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if info.payload().downcast_ref() != Some(&"a scoped goroutine panicked") {
            print(info);
        }
    }));
    thread::spawn(move || watch(seed));
    let (mut rng, since) = (Rng::new(seed), Instant::now());
    if lean() {
        // SAFETY: no goroutine keeps a reference to a thread-local across a point that can park.
        unsafe { gosched::set_default_shared_locals() }.expect("no goroutine has been made yet");
    }
    signals::hold();
    while since.elapsed() < length {
        round(&mut rng);
    }
    eprintln!("done: {}", tally::report());
}

/// Aborts the process when it makes no progress, or has too many threads. The runtime can't be sure
/// of a deadlock in this process: its plain threads, such as this one, might wake a goroutine.
fn watch(seed: u64) {
    let mut seen = tally::total();
    let mut since = Instant::now();
    loop {
        thread::sleep(Duration::from_millis(100));
        let (now, threads) = (tally::total(), threads());
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
        if since.elapsed() > PATIENCE || threads > MOST_THREADS {
            let goroutines = gosched::num_goroutine();
            eprintln!(
                "STRESS_SEED={seed} hangs, or has too many: {goroutines} goroutines, {threads} threads"
            );
            eprintln!("{}", tally::report());
            process::abort();
        }
    }
}

/// Returns the number of threads that this process has.
fn threads() -> usize {
    fs::read_dir("/proc/self/task").expect("Linux has it").count()
}

#[test]
fn stress() {
    let seed = random::seed();
    if env::var_os("GOMAXPROCS").is_some() {
        return here(seed, Duration::from_secs(random::number("STRESS_SECONDS").unwrap_or(1)));
    }
    for procs in [1, 2, 8] {
        with_settings(seed, procs, "randomizescheduler=0", &[]);
        with_settings(seed, procs, "randomizescheduler=1", &[]);
        with_settings(seed, procs, "randomizescheduler=1", &[("STRESS_LEAN", "1")]);
    }
    with_settings(seed, 2, "stackforcemove=1,efence=1,stackverify=1", &[]);
}

/// Runs the stress in a process with these settings, and then reads the traces that it has left.
fn with_settings(seed: u64, procs: usize, godebug: &str, more: &[(&str, &str)]) {
    let (procs, seed) = (procs.to_string(), seed.to_string());
    let folder = env::temp_dir().join(format!("gosched-traces-{}", process::id()));
    fs::create_dir_all(&folder).expect("a folder can be made");
    let traces = folder.to_str().expect("text");
    let settings =
        [("GOMAXPROCS", &*procs), ("GODEBUG", godebug), ("STRESS_SEED", &*seed), ("STRESS_TRACES", traces)];
    let settings: Vec<_> = settings.iter().chain(more).copied().collect();
    for (name, value) in &settings {
        eprint!("{name}={value} ");
    }
    eprintln!();
    let mut child = this_binary();
    child.args(["--exact", "stress", "--nocapture"]).envs(settings);
    let status = child.status().expect("a process can be made");
    assert!(status.success(), "{status}");
    // If a trace is wrong, the folder stays.
    assert_readable(&folder);
    fs::remove_dir_all(&folder).expect("it was made");
}

/// Asserts that each trace in the folder is right to its end. A trace whose writer failed has the
/// extension `cut`; all of its generations but the last must be right.
fn assert_readable(folder: &Path) {
    for entry in fs::read_dir(folder).expect("it was made") {
        let path = entry.expect("it can be read").path();
        let trace = fs::read(&path).expect("it can be read");
        let (events, end) = read_whole_generations(&trace);
        if path.extension().is_some_and(|extension| extension == "cut") {
            let begun = generations(&trace).map_or(0, |generations| generations.flatten().count());
            let told = events.chunk_by(|a, b| a.generation == b.generation).count();
            assert!(told + 1 >= begun, "{}: {told} of {begun}: {end:?}", path.display());
        } else {
            assert!(end.is_ok() && !events.is_empty(), "{}: {end:?}", path.display());
        }
    }
}
