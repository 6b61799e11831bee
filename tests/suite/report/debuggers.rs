//! What gdb and `std::backtrace` show of a goroutine: its frames down to the base, and no more.

#[allow(dead_code)] // no process is started in an emulator
use std::backtrace::Backtrace;
use std::env;
use std::ffi::c_void;
use std::fs;
use std::process::Command;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::thread;

use gosched::proc;
use gosched::runtime2::{G, TraceBlockReason, WaitReason};
use gosched::{preemptible, run};

use crate::harness::process::Process;
use crate::harness::{Test, goroutines, tests};

tests! {
    std_backtrace_ends_at_the_base
    #[slow] gdb_sees_the_goroutine_to_its_base
    #[slow] gdb_sees_what_was_interrupted
    #[slow] gdb_knows_goroutines
    #[slow] gdb_knows_a_detached_one
}

/// The environment variable that selects a debuggee's work.
const DEBUGGEE: &str = "DEBUGGEE";

/// The backtrace that [`stop_here`] takes if there is no debugger.
static SEEN: Mutex<Option<String>> = Mutex::new(None);

/// The place of the debugger's breakpoint.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn stop_here() {
    let backtrace = Backtrace::force_capture().to_string();
    *SEEN.lock().unwrap() = Some(backtrace);
}

/// A frame between the base of a goroutine and the case's code.
#[unsafe(no_mangle)]
#[inline(never)]
fn on_the_goroutine(f: fn()) {
    f();
    std::hint::black_box(f);
}

/// The place at which a case stops.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    run: fn(),
    /// The functions that must be in the backtrace, from the innermost on.
    frames: &'static [&'static str],
}

const CASES: [Case; 4] = [
    Case {
        name: "fixed",
        run: || _ = gosched::go(|| on_the_goroutine(|| stop_here())).join(),
        frames: &["stop_here", "on_the_goroutine", "gosched_goexit"],
    },
    Case {
        name: "systemstack",
        run: || {
            _ = gosched::go(|| {
                // SAFETY: the closure doesn't park.
                on_the_goroutine(|| unsafe { proc::systemstack(|| stop_here()) })
            })
            .join();
        },
        frames: &["stop_here", "gosched_systemstack", "on_the_goroutine", "gosched_goexit"],
    },
    Case {
        name: "copying",
        run: || {
            unsafe extern "C" fn raw(_: *mut c_void) {
                // Only g0 has room for a backtrace here.
                // SAFETY: the closure doesn't park.
                on_the_goroutine(|| unsafe { proc::systemstack(|| stop_here()) });
            }
            // SAFETY: `raw` fits its stack and doesn't panic.
            unsafe { proc::newproc(Some(raw), ptr::null_mut()) };
            while SEEN.lock().unwrap().is_none() {
                gosched::yield_now();
            }
        },
        frames: &["stop_here", "gosched_systemstack", "on_the_goroutine", "gosched_goexit"],
    },
    Case {
        name: "mcall",
        run: || {
            unsafe extern "C" fn on_g0(gp: *mut G) -> ! {
                stop_here();
                // SAFETY: the goroutine called mcall.
                unsafe { proc::gogo(gp) }
            }
            // SAFETY: on_g0 resumes the goroutine.
            _ = gosched::go(|| on_the_goroutine(|| unsafe { proc::mcall(on_g0) })).join();
        },
        // The goroutine may run elsewhere by then: the backtrace has g0's frames, not the
        // goroutine's.
        frames: &["stop_here", "on_g0", "gosched_mcall"],
    },
];

/// Checks that a backtrace, one line a frame, has the frames in order and ends with the last.
fn assert_frames(case: &Case, lines: &[&str], whole: &str) {
    let mut wanted = case.frames.iter().peekable();
    for line in lines {
        if wanted.peek().is_some_and(|frame| line.contains(**frame)) {
            wanted.next();
        }
    }
    assert_eq!(wanted.next(), None, "{}: a frame is missing from\n{whole}", case.name);
    let last = lines.last().expect("a backtrace has lines");
    let base = case.frames.last().expect("a case has frames");
    assert!(last.contains(base), "{}: the backtrace ends with `{last}`, not {base}:\n{whole}", case.name);
}

/// Makes each case stop, one after the other.
fn stop_in_each_case() {
    for case in &CASES {
        *SEEN.lock().unwrap() = None;
        run(case.run);
    }
}

fn std_backtrace_ends_at_the_base() {
    for case in &CASES {
        *SEEN.lock().unwrap() = None;
        run(case.run);
        let seen = SEEN.lock().unwrap().take().expect("the case stops");
        // Frames are numbered. The lines in between give their places.
        let frame = |line: &&str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
        assert_frames(case, &seen.lines().filter(frame).collect::<Vec<_>>(), &seen);
    }
}

/// The command that makes gdb read the script for goroutines.
pub const SCRIPT: &str = concat!("source ", env!("CARGO_MANIFEST_DIR"), "/../../tools/gosched-gdb.py");

/// Returns whether a test that needs the script is skipped: gdb or types may be missing.
pub fn skipped_without_script(test: Test) -> bool {
    if !cfg!(debug_assertions) {
        test.skip("the release profile has no types in its debug information");
        return true;
    }
    skipped_without_gdb(test)
}

/// Returns whether a test that needs gdb is skipped. Fails where all tools must be there.
fn skipped_without_gdb(test: Test) -> bool {
    if env::var_os(DEBUGGEE).is_some() {
        return false;
    }
    if test.skipped_in_emulator("gdb can't start a program") {
        return true;
    }
    let missing = Command::new("gdb").arg("--version").output().is_err();
    if missing {
        assert!(env::var_os("GOSCHED_REQUIRE_TOOLS").is_none(), "gdb is missing");
        test.skip("gdb is missing");
    }
    missing
}

/// The name of the debuggee that stops in each of [`CASES`].
const EACH_CASE: &str = "each case";

/// Returns the process that gdb starts, which runs the debuggee of this name.
fn debuggee(test: Test, name: &str) -> Process {
    let process = test.process(|| match env::var(DEBUGGEE).expect("gdb starts this").as_str() {
        INTERRUPTED => run(interrupted),
        PARKED => run(parked),
        DETACHED => run(detached),
        EACH_CASE => stop_in_each_case(),
        name => unreachable!("{name}"),
    });
    process.env(DEBUGGEE, name).env("GOMAXPROCS", "1")
}

/// Returns the command of gdb, with `commands`.
pub fn gdb(commands: &[&str]) -> Command {
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-ex", "set confirm off", "-ex", "set debuginfod enabled off"]);
    for command in commands {
        gdb.args(["-ex", command]);
    }
    gdb
}

/// Returns gdb's output.
pub fn output(mut gdb: Command) -> String {
    let output = gdb.output().expect("gdb is here");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Fails unless a debuggee stops at these breakpoints, one after the other, and gdb shows the
/// frames of these cases there. One gdb does all cases, because reading a program takes it seconds.
fn assert_stops(debuggee: Process, stops: &[(&str, &Case)]) {
    const STOP: &str = "this is the next stop";
    let mut commands = Vec::new();
    for (i, (breakpoint, _)) in stops.iter().enumerate() {
        commands.push(format!("tbreak {breakpoint}"));
        commands.push(if i == 0 { "run" } else { "continue" }.to_owned());
        commands.extend([format!("echo {STOP}\\n"), "backtrace".to_owned()]);
    }
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let output = output(debuggee.under(gdb(&commands)));
    for complaint in ["corrupt stack", "Backtrace stopped", "previous frame"] {
        assert!(!output.contains(complaint), "gdb complains:\n{output}");
    }
    let backtraces: Vec<&str> = output.split(STOP).skip(1).collect();
    assert_eq!(backtraces.len(), stops.len(), "{output}");
    for (backtrace, (_, case)) in backtraces.into_iter().zip(stops) {
        let frame = |line: &&str| line.starts_with('#');
        assert_frames(case, &backtrace.lines().filter(frame).collect::<Vec<_>>(), &output);
    }
}

fn gdb_sees_the_goroutine_to_its_base(test: Test) {
    if skipped_without_gdb(test) {
        return;
    }
    assert_stops(debuggee(test, EACH_CASE), &CASES.each_ref().map(|case| ("stop_here", case)));
}

/// A goroutine is stopped between two instructions, and goes on. The registers that are saved on
/// g0's stack are the goroutine's.
fn gdb_sees_what_was_interrupted(test: Test) {
    if skipped_without_gdb(test) {
        return;
    }
    let case = Case {
        name: INTERRUPTED,
        run: interrupted,
        frames: &["<signal handler called>", "until_others_ran", "on_the_goroutine", "gosched_goexit"],
    };
    // The goroutine must not lose its P instead, between two places where it can be stopped.
    let process = debuggee(test, case.name).env("GODEBUG", "detach=0");
    assert_stops(process, &[("gosched_async_preempt2", &case), ("gosched_x_reg_restore", &case)]);
}

/// The debuggee with a goroutine that waits, while another stops the debugger.
const PARKED: &str = "parked";

fn parked() {
    let (tx, rx) = gosched::chan::bounded::<()>(0);
    static WAITING: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());
    let waiting = gosched::go(move || {
        WAITING.store(proc::getg(), Ordering::Relaxed);
        waits(&rx);
    });
    for reason in WaitReason::ALL {
        // SAFETY: nothing wakes it, and `parks` only counts.
        drop(gosched::go(move || unsafe {
            proc::gopark(Some(parks), ptr::null_mut(), reason, TraceBlockReason::Generic, 1)
        }));
    }
    while !goroutines::waits(WAITING.load(Ordering::Relaxed))
        || PARKS.load(Ordering::Relaxed) < WaitReason::ALL.len()
    {
        gosched::yield_now();
    }
    stop_here();
    drop(tx);
    waiting.join().unwrap();
}

/// The number of goroutines that wait forever, each for a reason of its own.
static PARKS: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn parks(_: *mut G, _: *mut c_void) -> bool {
    PARKS.fetch_add(1, Ordering::Relaxed);
    true
}

#[unsafe(no_mangle)]
#[inline(never)]
fn waits(rx: &gosched::chan::Receiver<()>) {
    _ = std::hint::black_box(rx.recv());
}

/// gdb's commands for goroutines, for a process and for its core file.
fn gdb_knows_goroutines(test: Test) {
    if skipped_without_script(test) {
        return;
    }
    let core = env::temp_dir().join(format!("gosched-{}.core", std::process::id()));
    // From a thread that runs no goroutine: main's, which waits in `run`. The core file, too, has
    // that thread first, because it is selected when the file is made.
    let look = [
        &[SCRIPT, "thread 1", "up", "info goroutines", "goroutine 2 bt", "goroutine 2 frame"][..],
        &["goroutine 1 frame", "goroutine all bt 1", "echo still selected\\n", "thread", "frame"],
    ]
    .concat();
    let begin = ["break stop_here", "run"];
    let save = format!("generate-core-file {}", core.display());
    // Guard regions can't be read: gdb leaves a mapping with a guard region out of the core file.
    // A goroutine that has lost its P gets other numbers.
    let process = debuggee(test, PARKED).env("GOSCHED_GUARD", "mprotect").env("GODEBUG", "detach=0");
    let live = output(process.under(gdb(&[&begin[..], &look, &[&save]].concat())));
    let mut of_core = gdb(&look);
    of_core.arg(env::current_exe().unwrap()).arg(&core);
    let dead = output(of_core);
    _ = fs::remove_file(core);
    for output in [live, dead] {
        let shown = output.find("goroutine 2 [chan receive]:").expect(&output);
        assert!(output.contains("  2 chan receive gosched_mcall\n"), "{output}");
        assert!(output.contains("* 1 running suite::report::debuggers::stop_here\n"), "{output}");
        for (goid, reason) in (3..).zip(WaitReason::ALL) {
            let text = if reason == WaitReason::Zero { "waiting" } else { reason.as_str() };
            assert!(output.contains(&format!("\n  {goid} {text} gosched_mcall\n")), "{text}:\n{output}");
        }
        assert!(output.contains("goroutine 1 [running"), "{output}");
        let stack = output[shown..].split("\n\n").next().unwrap_or_default();
        let frame = |name: &str| stack.lines().position(|line| line.starts_with('#') && line.contains(name));
        let frames = ["gosched_mcall", "waits", "gosched_goexit"].map(frame);
        assert!(frames.is_sorted() && frames[0].is_some(), "{frames:?} in:\n{output}");
        assert!(!stack.contains("stop_here") && !stack.contains("corrupt"), "{output}");
        let last = output.rfind("goroutine 2 [chan receive]:\n").expect(&output);
        let frame = output[last..].lines().nth(1).unwrap_or_default();
        assert!(frame.starts_with('#') && frame.contains("gosched_mcall"), "{output}");
        let selected = output.split_once("still selected\n[Current thread is 1 ").expect(&output).1;
        assert!(selected.contains("\n#1 "), "{output}");
    }
}

/// The debuggee with a goroutine that has lost its P, while another stops the debugger.
const DETACHED: &str = "detached";

fn detached() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    static OVER: AtomicBool = AtomicBool::new(false);
    let computes = || {
        BEGUN.store(true, Ordering::Relaxed);
        while !OVER.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    };
    let hog = gosched::go(move || on_the_goroutine(computes));
    // There is one P.
    while !BEGUN.load(Ordering::Relaxed) {
        gosched::yield_now();
    }
    stop_here();
    OVER.store(true, Ordering::Relaxed);
    hog.join().unwrap();
}

fn gdb_knows_a_detached_one(test: Test) {
    if skipped_without_script(test) {
        return;
    }
    let commands = [SCRIPT, "break stop_here", "run", "info goroutines", "goroutine 2 bt"];
    let look = |_| output(debuggee(test, DETACHED).env("GODEBUG", "detach=1").under(gdb(&commands)));
    // On a slow machine main may lose the P to the other goroutine in the moment before it stops.
    let main_has_p = |output: &String| !output.contains("\n* 1 running (detached) ");
    let output = (0..).map(look).find(main_has_p).expect("there is no last one");
    assert!(output.contains("\n* 1 running suite::"), "{output}");
    assert!(output.contains("\n* 2 running (detached) "), "{output}");
    let (_, stack) = output.split_once("\ngoroutine 2 [running (detached)]:\n").expect(&output);
    let frames = ["::on_the_goroutine (", "gosched_goexit"].map(|frame| stack.find(frame));
    assert!(frames.is_sorted() && frames[0].is_some(), "{output}");
}

const INTERRUPTED: &str = "interrupted";

/// Whether another goroutine has run; there is one P.
static OTHERS_RAN: AtomicBool = AtomicBool::new(false);

preemptible! {
    unsafe fn until_others_ran() {
        while !OTHERS_RAN.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    }
}

/// A goroutine that is interrupted once, or more often.
fn interrupted() {
    let asking = thread::spawn(|| {
        while !OTHERS_RAN.load(Ordering::Relaxed) {
            proc::preemptall();
            thread::yield_now();
        }
    });
    static BEGUN: AtomicBool = AtomicBool::new(false);
    let waiting = gosched::go(|| {
        on_the_goroutine(|| {
            BEGUN.store(true, Ordering::Relaxed);
            // SAFETY: no lock is held, and no thread-local in use.
            unsafe { until_others_ran() }
        })
    });
    // After that, only an interruption brings it back here.
    while !BEGUN.load(Ordering::Relaxed) {
        gosched::yield_now();
    }
    OTHERS_RAN.store(true, Ordering::Relaxed);
    waiting.join().unwrap();
    asking.join().unwrap();
}
