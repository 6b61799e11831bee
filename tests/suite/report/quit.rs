//! The output of a process that ends by a throw or by SIGQUIT: all stacks, or as many as its
//! settings ask for.

use std::env;
use std::fs;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr};
use std::ptr;
use std::sync::atomic::Ordering;
use std::thread;

use gosched::chan::{Receiver, bounded};
use gosched::labels::with_labels;
use gosched::{Builder, go, proc, run, yield_now};

use super::traceback::{GO_ON, RAW, SPINNING, outer, spins};
use crate::harness::goroutines::{until_it_waits, waits};
use crate::harness::{Test, tests};

tests! {
    a_throw
    no_stacks
    quit
    quit_of_many
    quit_of_a_running_program
    quit_of_the_programs_own
    a_second_cuts_nothing_off
    a_third_ends_the_process
    crash
}

/// Makes a goroutine that waits, and one that breaks a rule of the runtime.
fn throw() {
    let (_tx, rx) = bounded::<()>(0);
    go(move || {
        RAW.store(proc::getg(), Ordering::Relaxed);
        outer(&rx);
    });
    until_it_waits(&RAW);
    // SAFETY: the call only leads to a fatal error.
    unsafe { proc::goready(proc::getg(), 1) };
}

fn a_throw(test: Test) {
    let ended = test.process(|| run(throw)).end();
    ended.with("exit status: 2").says("fatal error: bad g->status in ready\n").says(" [chan receive]:\n");
    ended.says("traceback::outer(...)\n").says("quit::throw(...)\n").says("gosched_mcall(...)\n");
}

fn no_stacks(test: Test) {
    let process = test.process(|| {
        // SAFETY: the call only leads to a fatal error.
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

/// Asks to quit once its main goroutine waits.
fn quits() {
    run(|| {
        let (_tx, rx) = bounded::<()>(0);
        thread::spawn(|| {
            while !waits(RAW.load(Ordering::Relaxed)) {
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

/// With SIGQUIT's default action, and with SIGQUIT ignored, as when a shell has started the process
/// in the background.
fn quit(test: Test) {
    let process = |by_default: &str| {
        let process = test.process(|| {
            let ignored = env::var_os("BY_DEFAULT").is_some_and(|is| is == "ignored");
            // SAFETY: no handler is installed.
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

/// Calls `make` to make `n` goroutines, each of which calls the function that it gets, and then
/// waits. Returns when all of them wait.
fn make_them_wait(n: usize, make: impl Fn(usize, Box<dyn FnOnce() + Send>)) {
    let (tx, rx) = bounded(n);
    for i in 0..n {
        let tx = tx.clone();
        make(i, Box::new(move || tx.send(proc::getg().expose_provenance()).unwrap()));
    }
    for _ in 0..n {
        let gp = ptr::with_exposed_provenance_mut(rx.recv().unwrap());
        while !waits(gp) {
            yield_now();
        }
    }
}

fn quit_of_many(test: Test) {
    let process = || {
        test.process(|| {
            run(|| {
                let (_tx, rx) = bounded::<()>(0);
                make_them_wait(7, |i, tell| {
                    let rx = rx.clone();
                    let waits = move || {
                        tell();
                        outer(&rx);
                    };
                    with_labels([("part", "mail"), ("number", &i.to_string())], || drop(go(waits)));
                });
                ask_to_quit();
                loop {
                    yield_now();
                }
            });
        })
    };
    let ended = process().end();
    ended.with("exit status: 2").says("\n7 goroutines [chan receive] {part: mail}:\ngoroutines ");
    ended.says("\ngoroutine 1 [");
    assert_eq!(ended.stderr.matches("traceback::outer(...)").count(), 1, "{}", ended.stderr);
    let ended = process().env("GOTRACEBACK", "none").end();
    assert!(!ended.with("exit status: 2").stderr.contains(" goroutines ["), "{}", ended.stderr);
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
    ended.with("exit status: 2").says("SIGQUIT: quit\nPC=0x").says("\ngoroutine 1 [running");
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

/// The number of goroutines whose report is longer than a pipe holds. Each has a stack of its own.
const MANY: usize = 400;
/// Waits in a stack that no other `path` has.
fn waits_at(path: usize, rx: &Receiver<()>) {
    match (path, path % 2) {
        (0, _) => outer(rx),
        (_, 0) => even(path / 2, rx),
        _ => odd(path / 2, rx),
    }
}

#[inline(never)]
fn even(path: usize, rx: &Receiver<()>) {
    waits_at(path, rx);
    black_box(0);
}

#[inline(never)]
fn odd(path: usize, rx: &Receiver<()>) {
    waits_at(path, rx);
    black_box(1);
}

/// Returns a process that has got a second SIGQUIT while it writes the report of the first, and the
/// pipe with the rest of that report.
fn quits_twice(test: Test) -> (Child, BufReader<ChildStderr>) {
    let process = test.process(|| {
        run(|| {
            let (_tx, rx) = bounded::<()>(0);
            make_them_wait(MANY, |path, tell| {
                let rx = rx.clone();
                let waits = move || {
                    tell();
                    waits_at(path, &rx);
                };
                Builder::new().name("waits").go(waits).unwrap();
            });
            ask_to_quit();
            // There is no deadlock to report.
            loop {
                yield_now();
            }
        });
    });
    let mut child = process.start();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut text = String::new();
    while !text.ends_with("SIGQUIT: quit\n") {
        assert_ne!(stderr.read_line(&mut text).unwrap(), 0, "{text}");
    }
    send_quit(&child);
    while is_handled(&child) {
        assert_eq!(child.try_wait().unwrap(), None, "it has ended");
        thread::yield_now();
    }
    (child, stderr)
}

fn send_quit(child: &Child) {
    // SAFETY: sends a signal to a process that hasn't been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGQUIT) }, 0);
}

/// Returns whether a process handles SIGQUIT, and so doesn't end by it.
fn is_handled(child: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let handled = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t")).unwrap();
    u64::from_str_radix(handled, 16).unwrap() & 1 << (libc::SIGQUIT - 1) != 0
}

/// Why an emulator can't run either test.
const ALL_HANDLED: &str = "the kernel sees the handlers of the emulator, which has one for each signal";

fn a_second_cuts_nothing_off(test: Test) {
    if test.skipped_in_emulator(ALL_HANDLED) {
        return;
    }
    let (mut child, mut stderr) = quits_twice(test);
    let mut report = String::new();
    stderr.read_to_string(&mut report).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2), "{report}");
    assert_eq!(report.matches(" \"waits\" [").count(), MANY, "{report}");
}

fn a_third_ends_the_process(test: Test) {
    if test.skipped_in_emulator(ALL_HANDLED) {
        return;
    }
    let (mut child, _unread) = quits_twice(test);
    send_quit(&child);
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGQUIT));
}

fn crash(test: Test) {
    let ended = test.process(|| run(throw)).env("GOTRACEBACK", "crash").end();
    ended.with("signal: 6").says("traceback::outer(...)\n");
}
