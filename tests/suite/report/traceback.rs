//! A dump's part for each goroutine: its state, its frames down to its own function, and its maker.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::thread;

use gosched::chan::{Receiver, bounded};
use gosched::runtime2::{G, GPREEMPTED, GSCANWAITING, GWAITING, TraceBlockReason, WaitReason};
use gosched::{blocking, go, goid, morestack_check, preemptible, proc, run, yield_now};

use crate::asm::probes::probes_waits;
use crate::harness::goroutines::{dump_with_detached, until_it_waits};
use crate::harness::{Test, tests};

tests! {
    one_that_waits
    one_on_a_copying_stack
    one_stopped_at_a_check
    one_stopped_anywhere
    one_in_a_system_call
    one_that_has_not_begun
    one_that_runs
    one_that_touches_a_large_frame
    one_that_works_on_g0
    the_caller
    from_a_thread
    minutes
}

/// Returns a dump that doesn't mark the goroutines that have lost their P.
pub(super) fn dump() -> String {
    dump_with_detached().replace("[running (detached)]", "[running]")
}

/// Returns a dump. The caller keeps its P meanwhile, so no other goroutine begins and then waits
/// for the P.
pub(super) fn dump_with_p() -> String {
    let mp = proc::acquirem();
    let dump = dump();
    // SAFETY: once, with the result of acquirem.
    unsafe { proc::releasem(mp) };
    dump
}

/// Returns a dump's part for a goroutine.
pub(super) fn part(dump: &str, goid: u64) -> &str {
    let header = format!("goroutine {goid} ");
    let part = dump.split("\n\n").find(|part| part.starts_with(&header));
    part.unwrap_or_else(|| panic!("no goroutine {goid} in:\n{dump}"))
}

/// Fails unless the goroutine is in this state, and its frames have these functions, in this order.
#[track_caller]
pub(super) fn assert_part(part: &str, state: &str, functions: &[&str]) {
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

/// Runs `f` on a goroutine, and waits until the goroutine is in `function` and in the state that a
/// dump calls `state`. Returns the dump's part for it. Then `end` lets it end.
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

/// Frames in which a goroutine waits.
#[inline(never)]
pub(super) fn outer(rx: &Receiver<()>) {
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

/// The raw goroutine's G, once it runs.
pub(super) static RAW: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());
pub(super) static GO_ON: AtomicBool = AtomicBool::new(false);

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
pub(super) unsafe extern "C" fn copying(depth: *mut c_void) {
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

/// Runs with checks until the test lets it end.
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
                    // It is suspended twice, so it has stopped before the dump looks at it.
                    let state = proc::suspend_g(gp);
                    assert!(!state.dead && proc::readgstatus(gp) != GPREEMPTED);
                    proc::resume_g(state);
                }
                let found = loop {
                    let dump = dump();
                    let found = part(&dump, raw_goid()).to_owned();
                    // The goroutine's thread may find no processor for a while.
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
            let dump = dump_with_p();
            let found =
                dump.split("\n\n").find(|part| part.contains(" [runnable]:")).expect("one is runnable");
            assert_part(found, "runnable", &["traceback::copying"]);
            assert_eq!(found.matches("(...)").count(), 1, "{found}");
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=0").end().with("exit status: 0");
}

/// Whether a goroutine is in [`spins`].
pub(super) static SPINNING: AtomicBool = AtomicBool::new(false);

/// Runs without a check.
#[inline(never)]
pub(super) fn spins() {
    SPINNING.store(true, Ordering::Relaxed);
    while !GO_ON.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
    black_box(());
}

/// Runs `f` on a goroutine until [`GO_ON`]. Calls `check` with the dump's part for the goroutine
/// while it is in `function`.
fn while_it_runs(test: Test, function: &str, f: fn(), check: fn(&str)) {
    let process = test.process(|| {
        run(|| check(&seen("running", function, f, || GO_ON.store(true, Ordering::Relaxed))));
    });
    process.env("GOMAXPROCS", "2").end().with("exit status: 0");
}

fn one_that_runs(test: Test) {
    while_it_runs(test, "traceback::spins", spins, |found| {
        assert!(found.contains("traceback::spins(...)"), "{found}");
    });
}

#[inline(never)]
fn touches_a_large_frame() {
    // SAFETY: it waits until the test ends.
    unsafe { probes_waits(GO_ON.as_ptr()) };
    black_box(());
}

/// A register that a call may change leads to the frame, and it points below the stack pointer.
fn one_that_touches_a_large_frame(test: Test) {
    while_it_runs(test, "probes_waits", touches_a_large_frame, |found| {
        assert_part(found, "running", &["probes_waits", "traceback::touches_a_large_frame"]);
    });
}

#[inline(never)]
fn works_on_g0() {
    // SAFETY: the closure doesn't park.
    unsafe { proc::systemstack(spins) };
    black_box(());
}

fn one_that_works_on_g0(test: Test) {
    while_it_runs(test, "traceback::works_on_g0", works_on_g0, |found| {
        assert!(found.contains("traceback::works_on_g0(...)"), "{found}");
    });
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
        // Waits until no goroutine is left: the goroutine that wakes `run` ends a moment later.
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
            // SAFETY: the kernel fills `now`. The goroutine waits, and while it has the scan bit
            // the field is the caller's.
            unsafe {
                libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now);
                while !proc::castogscanstatus(gp, GWAITING, GSCANWAITING) {}
                (*gp).waitsince.set(now.tv_sec * 1_000_000_000 - 200_000_000_000);
                proc::casfrom_gscanstatus(gp, GSCANWAITING, GWAITING);
            }
            let dump = dump();
            assert_part(part(&dump, raw_goid()), "chan receive, 3 minutes", &["traceback::inner"]);
            drop(tx);
            handle.join().unwrap();
        });
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0");
}
