//! What gdb and `std::backtrace` see of a goroutine: its frames down to the base, and no more.

#[allow(dead_code)] // no process is started in an emulator
#[path = "common/emulator.rs"]
mod emulator;

use std::backtrace::Backtrace;
use std::env;
use std::ffi::c_void;
use std::process::Command;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use emulator::emulator;
use gosched::preemptible;
use gosched::proc;
use gosched::runtime2::G;

/// The backtrace taken in [`stop_here`], when there is no debugger to take one.
static SEEN: Mutex<Option<String>> = Mutex::new(None);

/// Where the debugger has a breakpoint.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn stop_here() {
    let backtrace = Backtrace::force_capture().to_string();
    *SEEN.lock().unwrap() = Some(backtrace);
}

/// A frame between the base of a goroutine and what happens on it.
#[unsafe(no_mangle)]
#[inline(never)]
fn on_the_goroutine(f: fn()) {
    f();
    std::hint::black_box(f);
}

/// The place that a case stops at.
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
                // There is no room for a backtrace here but on g0.
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
                // SAFETY: the goroutine that called mcall.
                unsafe { proc::gogo(gp) }
            }
            // SAFETY: on_g0 resumes the goroutine.
            _ = gosched::go(|| on_the_goroutine(|| unsafe { proc::mcall(on_g0) })).join();
        },
        // The goroutine may run elsewhere by then: its frames are not g0's.
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

#[test]
fn std_backtrace_ends_at_the_base() {
    for case in &CASES {
        *SEEN.lock().unwrap() = None;
        // SAFETY: no thread-local is kept across a point that can park.
        unsafe { gosched::run(case.run) };
        let seen = SEEN.lock().unwrap().take().expect("the case stops");
        // Frames are numbered; the lines between say where they are.
        let frame = |line: &&str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
        assert_frames(case, &seen.lines().filter(frame).collect::<Vec<_>>(), &seen);
    }
}

/// Whether a test that needs gdb is skipped, with a line that says so. Where all tools must be there it
/// fails.
fn skipped_without_gdb() -> bool {
    if emulator().is_some() {
        eprintln!("skipped: gdb can't start a program in an emulator");
        return true;
    }
    let missing = Command::new("gdb").arg("--version").output().is_err();
    if missing {
        assert!(env::var_os("GOSCHED_REQUIRE_TOOLS").is_none(), "gdb is missing");
        eprintln!("skipped: gdb is missing");
    }
    missing
}

/// What gdb writes that has a debuggee stop at a breakpoint and looks at its stack.
fn gdb(debuggee: &str, breakpoint: &str) -> String {
    let gdb = Command::new("gdb")
        .args(["-nx", "-batch", "-ex", "set confirm off", "-ex", "set debuginfod enabled off"])
        .args(["-ex", &format!("break {breakpoint}"), "-ex", "run", "-ex", "backtrace"])
        .arg("--args")
        .arg(env::current_exe().unwrap())
        .args(["--exact", "the_debuggee", "--nocapture"])
        .env("DEBUGGEE", debuggee)
        .env("GOMAXPROCS", "1")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&gdb.stdout).into_owned() + &String::from_utf8_lossy(&gdb.stderr);
    for complaint in ["corrupt stack", "Backtrace stopped", "previous frame"] {
        assert!(!output.contains(complaint), "{debuggee}: gdb complains:\n{output}");
    }
    output
}

#[test]
fn gdb_sees_the_goroutine_to_its_base() {
    if skipped_without_gdb() {
        return;
    }
    for case in &CASES {
        let output = gdb(case.name, "stop_here");
        let frame = |line: &&str| line.starts_with('#');
        assert_frames(case, &output.lines().filter(frame).collect::<Vec<_>>(), &output);
    }
}

/// Stopped between two instructions, and going on: what is saved on g0's stack is the goroutine's.
#[test]
fn gdb_sees_what_was_interrupted() {
    if skipped_without_gdb() {
        return;
    }
    let case = Case {
        name: INTERRUPTED,
        run: interrupted,
        frames: &["<signal handler called>", "until_others_ran", "on_the_goroutine", "gosched_goexit"],
    };
    for breakpoint in ["gosched_async_preempt2", "gosched_x_reg_restore"] {
        let output = gdb(case.name, breakpoint);
        let frame = |line: &&str| line.starts_with('#');
        assert_frames(&case, &output.lines().filter(frame).collect::<Vec<_>>(), &output);
    }
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

/// Interrupts a goroutine once, or more often.
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
    // Only an interruption brings it back here after that.
    while !BEGUN.load(Ordering::Relaxed) {
        gosched::yield_now();
    }
    OTHERS_RAN.store(true, Ordering::Relaxed);
    waiting.join().unwrap();
    asking.join().unwrap();
}

/// What gdb runs: the case that the environment names.
#[test]
fn the_debuggee() {
    let Ok(name) = env::var("DEBUGGEE") else { return };
    if name == INTERRUPTED {
        // SAFETY: no thread-local is kept across a point that can park.
        return unsafe { gosched::run(interrupted) };
    }
    let case = CASES.iter().find(|case| case.name == name).expect("a case");
    // SAFETY: no thread-local is kept across a point that can park.
    unsafe { gosched::run(case.run) };
}
