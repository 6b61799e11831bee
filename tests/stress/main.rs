//! A stress of everything at once, random but for its seed: no value is lost, nothing hangs, no
//! goroutine is left over.
//!
//! | variable | |
//! | --- | --- |
//! | `STRESS_SECONDS` | how long each process runs, 1 at first; 300 is thorough |
//! | `STRESS_SEED` | the seed; without it, another one each time |
//! | `STRESS_LEAN` | if it is set, goroutines share the thread-locals of their threads |
//! | `STRESS_TRACES` | if it is set, and `GOMAXPROCS` is: a folder for the first traces |
//! | `GOMAXPROCS` | if it is set, one process runs with it; otherwise one for each of several settings |

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

/// What a goroutine of the stress does; it returns when all that it has begun has ended.
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

/// Not with ThreadSanitizer: what is ordered by std's locks, which it doesn't see; and what goes on
/// only when a signal has stopped who computes or blocks, as it hands signals on late.
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

/// How long nothing may happen.
const PATIENCE: Duration = Duration::from_secs(100);

/// How many threads there may be. Each goroutine that has lost its P keeps one, as each of std's
/// has one; what has ended has none.
const MOST_THREADS: usize = 400;

/// Whether goroutines share the thread-locals of their threads.
fn lean() -> bool {
    env::var_os("STRESS_LEAN").is_some()
}

/// Several scenarios beside each other.
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

/// Two calls of `run` at once, and then nothing is left of them.
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

/// The stress with the settings of this process.
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
        // SAFETY: nothing of a thread-local is kept across a point that can park.
        unsafe { gosched::set_default_shared_locals() }.expect("it comes first");
    }
    signals::hold();
    while since.elapsed() < length {
        round(&mut rng);
    }
    eprintln!("done: {}", tally::report());
}

/// Ends the process when nothing happens any more, or there are too many threads: a plain thread,
/// so the runtime can't find a deadlock itself.
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

/// How many threads this process has.
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

/// Runs the stress in a process with these settings. What it has traced can be read.
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
    // What is wrong stays there.
    assert_readable(&folder);
    fs::remove_dir_all(&folder).expect("it was made");
}

/// Each trace is right to its end; and of one whose writer failed each generation is, but for the
/// last.
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
