//! When threads are goroutines, and when they are threads of the system.

use std::fs;
use std::sync::mpsc;
use std::thread;

use gosched::{blocking, make_threads_goroutines, run, trace};

use super::{is_goroutine, run_live};
use crate::harness::goroutines::wait_until;
use crate::harness::{Test, tests};

tests! {
    without_the_call_threads_are_threads
    the_environment_turns_it_on
    the_environment_turns_it_off
    std_park_off_turns_it_off
    the_first_thread_starts_the_runtime
    a_child_of_fork_that_comes_before_the_start
    a_late_call_works
    a_thread_made_by_a_thread
    a_thread_made_in_blocking
    a_child_of_fork_has_threads
    threads_of_the_runtime_are_threads
}

/// Why a test is skipped in an emulator.
const NO_THREADS: &str = "a child of fork can't make threads";

/// Whether `thread::spawn` makes a goroutine.
fn spawn_makes_goroutine() -> bool {
    thread::spawn(is_goroutine).join().unwrap()
}

fn without_the_call_threads_are_threads(test: Test) {
    test.process(|| run(|| assert!(!spawn_makes_goroutine()))).end().with("exit status: 0");
}

fn the_environment_turns_it_on(test: Test) {
    let process = test.process(|| run(|| assert!(spawn_makes_goroutine())));
    process.env("GOSCHED_THREADS", "1").end().with("exit status: 0");
}

fn the_environment_turns_it_off(test: Test) {
    let process = test.process(|| run_live(|| assert!(!spawn_makes_goroutine())));
    process.env("GODEBUG", "threads=0").end().with("exit status: 0");
}

fn std_park_off_turns_it_off(test: Test) {
    let process = test.process(|| run_live(|| assert!(!spawn_makes_goroutine())));
    process.env("GODEBUG", "stdpark=0").end().with("exit status: 0");
}

fn the_first_thread_starts_the_runtime() {
    make_threads_goroutines().unwrap();
    assert!(spawn_makes_goroutine() && spawn_makes_goroutine());
    assert!(!is_goroutine());
}

fn a_child_of_fork_that_comes_before_the_start(test: Test) {
    if !test.skipped_in_emulator(NO_THREADS) {
        test.process(fork_before_the_start).end().with("exit status: 0");
    }
}

fn fork_before_the_start() {
    make_threads_goroutines().unwrap();
    // SAFETY: this process has one thread.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let is_goroutine = spawn_makes_goroutine();
        // SAFETY: the child ends.
        unsafe { libc::_exit(if is_goroutine { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: a child of ours.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    assert!(spawn_makes_goroutine());
}

fn a_late_call_works() {
    run(|| {
        let (tx, rx) = mpsc::channel::<()>();
        let early = thread::spawn(move || {
            let _ = rx.recv();
            is_goroutine()
        });
        make_threads_goroutines().unwrap();
        assert!(spawn_makes_goroutine());
        drop(tx);
        assert!(!early.join().unwrap());
    });
}

fn a_thread_made_by_a_thread() {
    let (tx, rx) = mpsc::channel();
    let waits = thread::spawn(move || {
        rx.recv().unwrap();
        assert!(!is_goroutine());
        assert!(spawn_makes_goroutine());
    });
    run_live(|| tx.send(()).unwrap());
    waits.join().unwrap();
    // The runtime goes on when `run` has returned.
    assert!(spawn_makes_goroutine());
}

fn a_thread_made_in_blocking() {
    run_live(|| blocking(|| assert!(spawn_makes_goroutine())));
}

fn a_child_of_fork_has_threads(test: Test) {
    if !test.skipped_in_emulator(NO_THREADS) {
        test.process(fork_and_make_a_thread).end().with("exit status: 0");
    }
}

fn fork_and_make_a_thread() {
    run_live(|| {
        // SAFETY: the child makes threads, which the C library supports if the program has no other
        // locks in use, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let made = thread::spawn(|| 6 * 7);
            let right = made.join().unwrap() == 42;
            // SAFETY: the child ends.
            unsafe { libc::_exit(if right { 0 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: a child of ours.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
    });
}

/// Whether a thread of this process has this name.
fn has_thread(name: &str) -> bool {
    fs::read_dir("/proc/self/task").unwrap().any(|entry| {
        let comm = fs::read_to_string(entry.unwrap().path().join("comm"));
        comm.is_ok_and(|comm| comm.trim_end() == name)
    })
}

fn threads_of_the_runtime_are_threads() {
    run_live(|| {
        trace::start(std::io::sink()).unwrap();
        wait_until(|| has_thread("gosched-trace"));
        trace::stop().unwrap();
    });
}
