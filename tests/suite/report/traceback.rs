//! What a dump says of each goroutine: its state, its frames down to its own function, and who made it.

use std::env;
use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::chan::{Receiver, bounded};
use gosched::runtime2::{G, GPREEMPTED, GWAITING, TraceBlockReason, WaitReason};
use gosched::sync::Mutex;
use gosched::{
    Builder, Traceback, blocking, dump_goroutines, go, goid, morestack_check, preemptible, proc,
    set_traceback, yield_now,
};

use crate::harness::goroutines::until_it_waits;
use crate::harness::rng::Rng;
use crate::harness::{Test, run, tests};

tests! {
    one_that_waits
    one_on_a_copying_stack
    one_stopped_at_a_check
    one_stopped_anywhere
    one_in_a_system_call
    one_that_has_not_begun
    one_that_runs
    one_that_works_on_g0
    the_caller
    from_a_thread
    minutes
    level
    level_of_the_environment
    ancestors
    makers_of_the_raw_layer
    ten_thousand
    while_others_run
    a_throw
    no_stacks
    quit
    quit_of_a_running_program
    quit_of_the_programs_own
    crash
}

/// A dump.
fn dump() -> String {
    let mut text = Vec::new();
    dump_goroutines(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// What a dump says of a goroutine.
fn part(dump: &str, goid: u64) -> &str {
    let header = format!("goroutine {goid} ");
    let part = dump.split("\n\n").find(|part| part.starts_with(&header));
    part.unwrap_or_else(|| panic!("no goroutine {goid} in:\n{dump}"))
}

/// Fails unless a goroutine is in this state, and these functions are in its frames, in this order.
#[track_caller]
fn assert_part(part: &str, state: &str, functions: &[&str]) {
    let mut lines = part.lines();
    let header = lines.next().unwrap_or_default();
    assert!(header.ends_with(&format!(" [{state}]:")), "expected [{state}]:\n{part}");
    for function in functions {
        let frame = lines.find(|line| line.contains(&format!("{function}(...)")));
        assert!(frame.is_some(), "no {function} in:\n{part}");
        let place = lines.next().unwrap_or_default();
        assert!(place.starts_with('\t'), "no place of {function} in:\n{part}");
    }
}

/// Has a goroutine do `f`, waits until it has the state that a dump calls `state` and is in `function`, and
/// returns what the dump says of it; then `end` lets it end.
fn seen(state: &str, function: &str, f: impl FnOnce() + Send + 'static, end: impl FnOnce()) -> String {
    let (tell, told) = bounded(1);
    let handle = go(move || {
        tell.send(goid()).unwrap();
        f();
    });
    let id = told.recv().unwrap();
    let found = loop {
        let dump = dump();
        let found = part(&dump, id);
        if found.contains(&format!("[{state}]")) && found.contains(function) {
            break found.to_owned();
        }
        yield_now();
    };
    end();
    handle.join().unwrap();
    found
}

/// Frames that a goroutine waits in.
#[inline(never)]
fn outer(rx: &Receiver<()>) {
    black_box(inner(rx));
}

#[inline(never)]
fn inner(rx: &Receiver<()>) -> bool {
    black_box(rx.recv().is_ok())
}

fn one_that_waits(test: Test) {
    let process = test.process(|| {
        run(|| {
            let (tx, rx) = bounded::<()>(0);
            let line = line!() + 1;
            let found = seen("chan receive", "traceback::inner", move || outer(&rx), || drop(tx));
            assert_part(&found, "chan receive", &["traceback::inner", "traceback::outer"]);
            assert!(found.lines().all(|line| !line.contains("gosched::")), "{found}");
            let made = format!("created at {}:", file!());
            assert!(found.lines().last().is_some_and(|last| last.starts_with(&made)), "{line}: {found}");
            assert!(found.ends_with(" in goroutine 1") || found.ends_with(" in goroutine 1\n"), "{found}");
        });
    });
    process.end().with("exit status: 0");
}

/// What the raw goroutines are, once they run.
static RAW: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());
static GO_ON: AtomicBool = AtomicBool::new(false);

fn raw_goid() -> u64 {
    // SAFETY: a G that has begun.
    unsafe { (*RAW.load(Ordering::Acquire)).goid.get() }
}

#[inline(never)]
fn parks_on_a_copying_stack() {
    RAW.store(proc::getg(), Ordering::Release);
    // SAFETY: on a goroutine, which the test makes ready.
    unsafe { proc::gopark(None, ptr::null_mut(), WaitReason::DebugCall, TraceBlockReason::Generic, 1) };
    black_box(());
}

#[inline(never)]
unsafe extern "C" fn copying(depth: *mut c_void) {
    if depth.addr() > 0 {
        morestack_check!(3000, deeper, depth.addr());
    } else {
        parks_on_a_copying_stack();
    }
    black_box(());
}

#[inline(never)]
fn deeper(depth: usize) {
    let room = black_box([depth; 100]);
    // SAFETY: it checks its stack.
    unsafe { copying(ptr::without_provenance_mut(depth - 1)) };
    black_box(&room);
}

fn one_on_a_copying_stack(test: Test) {
    let process = test.process(|| {
        run(|| {
            // SAFETY: it checks its stack and doesn't panic.
            unsafe { proc::newproc(Some(copying), ptr::without_provenance_mut(5)) };
            let gp = until_it_waits(&RAW);
            let dump = dump();
            let found = part(&dump, raw_goid());
            assert_part(found, "debug call", &["traceback::parks_on_a_copying_stack", "traceback::copying"]);
            assert_eq!(found.matches("traceback::deeper(...)").count(), 5, "{found}");
            // SAFETY: it waits for this, and there is one P: it has left its thread.
            unsafe { proc::goready(gp, 1) };
        });
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0");
}

#[inline(never)]
fn nothing() {}

/// Runs on, with checks, until the test lets it end.
#[inline(never)]
fn checks() {
    while !GO_ON.load(Ordering::Relaxed) {
        morestack_check!(100, nothing);
    }
    black_box(());
}

fn one_stopped_at_a_check(test: Test) {
    let process = test.process(|| {
        run(|| {
            let found = seen("running", "traceback::checks", checks, || GO_ON.store(true, Ordering::Relaxed));
            assert_part(&found, "running", &["traceback::checks"]);
        });
    });
    process.env("GOMAXPROCS", "2").end().with("exit status: 0");
}

preemptible! {
    unsafe fn until_told() {
        while !GO_ON.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    }
}

fn one_stopped_anywhere(test: Test) {
    let process = test.process(|| {
        run(|| {
            #[inline(never)]
            fn calls_it() {
                RAW.store(proc::getg(), Ordering::Release);
                // SAFETY: no lock is held, and no thread-local in use.
                unsafe { until_told() };
                black_box(());
            }
            let handle = go(calls_it);
            while RAW.load(Ordering::Acquire).is_null() {
                yield_now();
            }
            let on_a_thread = || {
                let gp = RAW.load(Ordering::Acquire);
                // SAFETY: a thread that isn't the runtime's; the goroutine hasn't ended.
                unsafe {
                    // Suspended twice, so that it has been stopped before the dump looks at it.
                    let state = proc::suspend_g(gp);
                    assert!(!state.dead && proc::readgstatus(gp) != GPREEMPTED);
                    proc::resume_g(state);
                }
                let found = loop {
                    let dump = dump();
                    let found = part(&dump, raw_goid()).to_owned();
                    // Its thread may find no processor for a while.
                    if !found.contains("stack unavailable") {
                        break found;
                    }
                };
                GO_ON.store(true, Ordering::Relaxed);
                found
            };
            let found = thread::spawn(on_a_thread).join().unwrap();
            assert!(found.contains("calls_it(...)") && found.contains("until_told(...)"), "{found}");
            handle.join().unwrap();
        });
    });
    process.env("GOMAXPROCS", "2").end().with("exit status: 0");
}

#[inline(never)]
fn blocks(end: &std::sync::mpsc::Receiver<()>) {
    black_box(blocking(|| end.recv().is_err()));
}

fn one_in_a_system_call(test: Test) {
    let process = test.process(|| {
        run(|| {
            let (end, ended) = std::sync::mpsc::channel();
            let found = seen("syscall", "traceback::blocks", move || blocks(&ended), || drop(end));
            assert_part(&found, "syscall", &["traceback::blocks"]);
        });
    });
    process.end().with("exit status: 0");
}

fn one_that_has_not_begun(test: Test) {
    let process = test.process(|| {
        run(|| {
            // SAFETY: it fits its stack.
            unsafe { proc::newproc(Some(copying), ptr::null_mut()) };
            let dump = dump();
            let found =
                dump.split("\n\n").find(|part| part.contains(" [runnable]:")).expect("one is runnable");
            assert_part(found, "runnable", &["traceback::copying"]);
            assert_eq!(found.matches("(...)").count(), 1, "{found}");
        });
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0");
}

/// Whether somebody is in [`spins`].
static SPINNING: AtomicBool = AtomicBool::new(false);

/// Runs on, without a check.
#[inline(never)]
fn spins() {
    SPINNING.store(true, Ordering::Relaxed);
    while !GO_ON.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
    black_box(());
}

fn one_that_runs(test: Test) {
    let process = test.process(|| {
        run(|| {
            let found = seen("running", "traceback::spins", spins, || GO_ON.store(true, Ordering::Relaxed));
            assert!(found.contains("traceback::spins(...)"), "{found}");
        });
    });
    process.env("GOMAXPROCS", "2").end().with("exit status: 0");
}

#[inline(never)]
fn works_on_g0() {
    // SAFETY: the closure doesn't park.
    unsafe { proc::systemstack(spins) };
    black_box(());
}

fn one_that_works_on_g0(test: Test) {
    let process = test.process(|| {
        run(|| {
            let found = seen("running", "traceback::works_on_g0", works_on_g0, || {
                GO_ON.store(true, Ordering::Relaxed)
            });
            assert!(found.contains("traceback::works_on_g0(...)"), "{found}");
        });
    });
    process.env("GOMAXPROCS", "2").end().with("exit status: 0");
}

#[inline(never)]
fn dumps() -> String {
    black_box(dump())
}

fn the_caller(test: Test) {
    let process = test.process(|| {
        run(|| {
            let dump = dumps();
            assert!(dump.starts_with("goroutine 1 [running]:\n"), "{dump}");
            assert_part(part(&dump, 1), "running", &["traceback::dumps"]);
        });
    });
    process.end().with("exit status: 0");
}

fn from_a_thread(test: Test) {
    let process = test.process(|| {
        run(|| {
            let found = blocking(|| thread::spawn(dumps).join().unwrap());
            assert!(part(&found, 1).starts_with("goroutine 1 [syscall]:\n"), "{found}");
            assert_part(part(&blocking(dumps), 1), "running", &["traceback::dumps"]);
        });
        // Until nobody is left: who wakes `run` ends a moment later.
        while !dumps().is_empty() {
            thread::yield_now();
        }
    });
    process.end().with("exit status: 0");
}

fn minutes(test: Test) {
    let process = test.process(|| {
        run(|| {
            let (tx, rx) = bounded::<()>(0);
            let handle = go(move || {
                RAW.store(proc::getg(), Ordering::Relaxed);
                outer(&rx);
            });
            let gp = until_it_waits(&RAW);
            let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: the kernel fills `now`; the goroutine waits, and only the runtime reads the field.
            unsafe {
                libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now);
                (*gp).waitsince.set(now.tv_sec * 1_000_000_000 - 200_000_000_000);
            }
            let dump = dump();
            assert_part(part(&dump, raw_goid()), "chan receive, 3 minutes", &["traceback::inner"]);
            drop(tx);
            handle.join().unwrap();
        });
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0");
}

fn level(test: Test) {
    let process = test.process(|| {
        run(|| {
            let gosched = |dump: &str| dump.lines().any(|line| line.starts_with("gosched_"));
            assert!(!gosched(&dump()));
            set_traceback(Traceback::System);
            assert!(gosched(&dump()));
            set_traceback(Traceback::Single);
            assert!(!gosched(&dump()));
        });
    });
    process.end().with("exit status: 0");
}

fn level_of_the_environment(test: Test) {
    let process = test.process(|| {
        run(|| {
            set_traceback(Traceback::Single);
            assert!(dump().contains("gosched_goexit"), "not less than the environment says");
        });
    });
    process.env("GOTRACEBACK", "system").end().with("exit status: 0");
}

/// Makes a goroutine that makes one, and so on.
#[inline(never)]
fn makes(depth: usize, rx: Receiver<()>) {
    if depth == 0 {
        return outer(&rx);
    }
    let made = go(move || makes(depth - 1, rx));
    drop(black_box(made));
}

fn ancestors(test: Test) {
    let process = test.process(|| {
        run(|| {
            let (tx, rx) = bounded::<()>(0);
            go(move || makes(3, rx)).join().unwrap();
            let found = loop {
                let dump = dump();
                if let Some(found) = dump.split("\n\n").find(|part| part.contains("traceback::inner(...)")) {
                    break found.to_owned();
                }
                yield_now();
            };
            let (own, origin) = found.split_once("[originating from goroutine ").expect("it has ancestors");
            assert!(own.contains("created at ") && origin.contains("traceback::makes(...)"), "{found}");
            assert_eq!(found.matches("[originating from goroutine ").count(), 2, "{found}");
            drop(tx);
        });
    });
    process.env("GODEBUG", "tracebackancestors=2").end().with("exit status: 0");
}

fn makers_of_the_raw_layer(test: Test) {
    let process = test.process(|| {
        run(|| {
            #[inline(never)]
            fn makes_a_raw_one() {
                // SAFETY: it fits its stack.
                unsafe { proc::newproc(Some(copying), ptr::null_mut()) };
                black_box(());
            }
            makes_a_raw_one();
            let dump = dump();
            let found =
                dump.split("\n\n").find(|part| part.contains(" [runnable]:")).expect("one is runnable");
            let (_, made) = found.split_once("created by ").expect("somebody has made it");
            assert!(made.lines().next().is_some_and(|line| line.ends_with(" in goroutine 1")), "{found}");
            assert!(made.contains("makes_a_raw_one"), "{found}");
        });
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0");
}

/// Ways to wait.
struct Ways {
    rx: Receiver<()>,
    lock: Mutex<()>,
}

macro_rules! ways {
    ($($name:ident $state:literal |$ways:ident| $wait:expr;)*) => {
        $(
            #[inline(never)]
            fn $name($ways: &Ways) {
                black_box($wait);
            }
        )*
        const WAYS: [(&str, &str, fn(&Ways)); 4] = [$((concat!("traceback::", stringify!($name)), $state, $name)),*];
    };
}

ways! {
    receives "chan receive" |ways| ways.rx.recv().is_ok();
    locks "sync.Mutex.Lock" |ways| drop(ways.lock.lock());
    selects "select" |ways| gosched::select! { recv(ways.rx) -> _ => {}, recv(gosched::chan::never::<()>()) -> _ => {} };
    sleeps "sleep" |_ways| gosched::time::sleep(Duration::from_secs(3600));
}

fn ten_thousand(test: Test) {
    const N: usize = if cfg!(target_arch = "aarch64") { 1000 } else { 10_000 };
    let process = test.process(|| {
        run(|| {
            let (_tx, rx) = bounded::<()>(0);
            let ways: &'static Ways = Box::leak(Box::new(Ways { rx, lock: Mutex::new(()) }));
            let _held = ways.lock.lock();
            for i in 0..N {
                let (name, _, wait) = WAYS[i % WAYS.len()];
                Builder::new().name(name).go(move || wait(ways)).unwrap();
            }
            // Others run meanwhile.
            for _ in 0..2 {
                go(|| {
                    while !GO_ON.load(Ordering::Relaxed) {
                        yield_now()
                    }
                });
            }
            let header = |name, state| format!(" \"{name}\" [{state}]:\n");
            let all_wait = |dump: String| {
                let waits = |(name, state, _)| dump.matches(&header(name, state)).count() == N / WAYS.len();
                WAYS.into_iter().all(waits)
            };
            while !all_wait(dump()) {
                yield_now();
            }
            let begun = std::time::Instant::now();
            let dump = dump();
            eprintln!("{N} goroutines in {:?}", begun.elapsed());
            for (name, state, _) in WAYS {
                let header = header(name, state);
                let parts: Vec<&str> = dump.split("\n\n").filter(|part| part.contains(&header)).collect();
                assert_eq!(parts.len(), N / WAYS.len(), "{name} is there");
                parts.iter().for_each(|part| assert_part(part, state, &[name]));
            }
            GO_ON.store(true, Ordering::Relaxed);
        });
    });
    let ended = process.env("GOMAXPROCS", "2").end();
    eprint!("{}", ended.with("exit status: 0").stderr);
}

/// Parks, grows, ends, for as long as there are dumps.
fn lives(mut rng: Rng, rounds: &'static AtomicUsize, depth: usize) {
    while rounds.load(Ordering::Relaxed) > 0 {
        match rng.below(6) {
            0 if depth < 3 => {
                let rng = rng.fork();
                go(move || lives(rng, rounds, depth + 1));
                return;
            }
            1 => gosched::time::sleep(Duration::from_micros(rng.below(200) as u64)),
            2 => {
                let (tx, rx) = bounded(0);
                go(move || tx.send(()));
                rx.recv().unwrap();
            }
            3 => blocking(|| thread::sleep(Duration::from_micros(50))),
            4 => _ = grow(rng.below(30)),
            _ => yield_now(),
        }
    }
}

#[inline(never)]
fn grow(depth: usize) -> usize {
    let room = black_box([depth; 64]);
    if depth == 0 { 0 } else { grow(depth - 1) + black_box(room)[0] }
}

/// Grows and shrinks a copying stack, and yields at its deepest.
unsafe extern "C" fn moves(rounds: *mut c_void) {
    fn down(depth: usize) {
        let room = black_box([depth; 20]);
        if depth > 0 {
            morestack_check!(1500, down, depth - 1);
        } else {
            // SAFETY: on a goroutine.
            unsafe { proc::gosched() };
        }
        black_box(&room);
    }
    // SAFETY: a static.
    while unsafe { &*rounds.cast::<AtomicUsize>() }.load(Ordering::Relaxed) > 0 {
        morestack_check!(1500, down, 40);
        // SAFETY: on a goroutine.
        unsafe { proc::gosched() };
    }
}

fn while_others_run(test: Test) {
    static ROUNDS: AtomicUsize = AtomicUsize::new(150);
    let process = test.process(|| {
        run(|| {
            let mut seeds = Rng::seeded();
            let hold: Vec<_> = (0..20)
                .map(|_| {
                    let rng = seeds.fork();
                    go(move || lives(rng, &ROUNDS, 0))
                })
                .collect();
            for _ in 0..5 {
                // SAFETY: it checks its stack and doesn't panic.
                unsafe { proc::newproc(Some(moves), ptr::from_ref(&ROUNDS).cast_mut().cast()) };
            }
            let looks = || {
                let dump = dump();
                assert!(dump.split("\n\n").all(|part| part.starts_with("goroutine ")), "{dump}");
                ROUNDS
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |rounds| rounds.checked_sub(1))
                    .is_ok()
            };
            // One on a thread, two on goroutines, which look at each other.
            let on_a_thread = thread::spawn(move || while looks() {});
            let other = go(move || {
                while looks() {
                    yield_now()
                }
            });
            while looks() {
                yield_now();
            }
            other.join().unwrap();
            blocking(|| on_a_thread.join().unwrap());
            hold.into_iter().for_each(|handle| handle.join().unwrap());
        });
    });
    process.env("GOMAXPROCS", "3").end().with("exit status: 0");
}

/// Makes a goroutine that waits, and one that breaks a rule of the runtime's.
fn throw() {
    let (_tx, rx) = bounded::<()>(0);
    go(move || {
        RAW.store(proc::getg(), Ordering::Relaxed);
        outer(&rx);
    });
    until_it_waits(&RAW);
    // SAFETY: a fatal error is all that comes of it.
    unsafe { proc::goready(proc::getg(), 1) };
}

fn a_throw(test: Test) {
    let ended = test.process(|| run(throw)).end();
    ended.with("exit status: 2").says("fatal error: bad g->status in ready\n").says(" [chan receive]:\n");
    ended.says("traceback::outer(...)\n").says("traceback::throw(...)\n").says("gosched_mcall(...)\n");
}

fn no_stacks(test: Test) {
    let process = test.process(|| {
        // SAFETY: a fatal error is all that comes of it.
        run(|| unsafe { proc::newproc(None, ptr::null_mut()) });
    });
    let ended = process.env("GOTRACEBACK", "none").end();
    ended.with("exit status: 2").says("fatal error: go of nil func value\n");
    assert!(!ended.stderr.contains("goroutine 1"), "{}", ended.stderr);
}

/// Sends this process a SIGQUIT, and waits for its end.
fn ask_to_quit() {
    // SAFETY: sends a signal.
    unsafe { libc::kill(libc::getpid(), libc::SIGQUIT) };
}

/// Asks to quit when its main goroutine waits.
fn quits() {
    run(|| {
        let (_tx, rx) = bounded::<()>(0);
        thread::spawn(|| {
            let waits = || {
                let gp = RAW.load(Ordering::Relaxed);
                // SAFETY: G's are never freed.
                !gp.is_null() && unsafe { proc::readgstatus(gp) } == GWAITING
            };
            while !waits() {
                thread::yield_now();
            }
            ask_to_quit();
            loop {
                thread::park();
            }
        });
        RAW.store(proc::getg(), Ordering::Relaxed);
        outer(&rx);
    });
}

/// As it is by default, and where a shell has started it in the background.
fn quit(test: Test) {
    let process = |by_default: &str| {
        let process = test.process(|| {
            let ignored = env::var_os("BY_DEFAULT").is_some_and(|is| is == "ignored");
            // SAFETY: no handler.
            unsafe { libc::signal(libc::SIGQUIT, if ignored { libc::SIG_IGN } else { libc::SIG_DFL }) };
            quits();
        });
        process.env("BY_DEFAULT", by_default)
    };
    for by_default in ["handled", "ignored"] {
        let ended = process(by_default).end();
        ended.with("exit status: 2").says("SIGQUIT: quit\nPC=0x").says("\ngoroutine 1 [chan receive]:\n");
        ended.says(" sigcode=0\n").says("traceback::outer(...)\n");
    }
}

fn quit_of_a_running_program(test: Test) {
    let process = || {
        test.process(|| {
            run(|| {
                go(|| {
                    while !SPINNING.load(Ordering::Relaxed) {
                        yield_now();
                    }
                    ask_to_quit();
                });
                spins();
            });
        })
    };
    // Its thread may find no processor for a while.
    let mut processes = (0..10).map(|_| process().env("GOMAXPROCS", "2").end());
    let ended = processes.find(|ended| !ended.stderr.contains("stack unavailable")).expect("its stack");
    ended.with("exit status: 2").says("SIGQUIT: quit\nPC=0x").says("goroutine 1 [running]:\n");
    ended.says("traceback::spins(...)\n");
}

fn quit_of_the_programs_own(test: Test) {
    extern "C" fn own(_: libc::c_int) {
        GO_ON.store(true, Ordering::Relaxed);
    }
    let process = test.process(|| {
        // SAFETY: the handler stores a flag.
        unsafe { libc::signal(libc::SIGQUIT, own as extern "C" fn(libc::c_int) as usize) };
        run(|| {
            ask_to_quit();
            spins();
        });
    });
    process.end().with("exit status: 0");
}

fn crash(test: Test) {
    let ended = test.process(|| run(throw)).env("GOTRACEBACK", "crash").end();
    ended.with("signal: 6").says("traceback::outer(...)\n");
}
