//! What must happen when one call fails.

mod common;

use common::{EVER, Ended, Fault, end, program};

/// The number of threads that the runtime makes to start. Without the second or the third it
/// reports that it can't start.
const START: u32 = 3;

/// The kernel says that it compares returns with a shadow stack. The runtime doesn't start, and the
/// error says what to do.
#[test]
fn a_shadow_stack() {
    let output = program(Some("start")).env("SHADOW_STACK", "1").output().expect("a process");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "it started");
    let what = "gosched::run: can't start: the kernel enforces a shadow stack for this program";
    for expected in ["program: Unsupported\n", what, "GLIBC_TUNABLES=glibc.cpu."] {
        assert!(stderr.contains(expected), "no {expected:?} in:\n{stderr}");
    }
    assert!(program(Some("start")).status().expect("a process").success());
}

/// Four goroutines that keep their threads hand their P's on all the time, while threads can no
/// longer be made.
#[test]
fn no_thread_for_those_that_keep_theirs() {
    for foreign in [false, true] {
        for procs in ["1", "4"] {
            for first in START + 1..=START + 10 {
                let mut locked = program(Some("locked"));
                locked.env("GOMAXPROCS", procs);
                if foreign {
                    locked.env("FOREIGN", "1");
                }
                let ended = end(locked, Fault { call: "clone", first, count: EVER, errno: libc::EAGAIN });
                assert!(
                    ended.success() || reported(&ended),
                    "without thread {first}, {procs} P's: {}:\n{}",
                    ended.how(),
                    ended.stderr
                );
            }
        }
    }
}

/// A thread that can't be made now may be made soon.
#[test]
fn one_thread_comes_late() {
    for procs in ["1", "4"] {
        for first in START + 1..=START + 10 {
            let mut locked = program(Some("locked"));
            locked.env("GOMAXPROCS", procs);
            let ended = end(locked, Fault { call: "clone", first, count: 1, errno: libc::EAGAIN });
            assert!(
                ended.success(),
                "without thread {first}, {procs} P's: {}:\n{}",
                ended.how(),
                ended.stderr
            );
        }
    }
}

/// Thousands of goroutines wait for each other in std's code, and threads can no longer be made, or
/// one can't.
#[test]
fn no_thread_for_a_crowd() {
    for first in [1_500, 2_000, 2_500] {
        for count in [1, EVER] {
            let mut crowd = program(Some("crowd"));
            crowd.env("GODEBUG", "period=10");
            let ended = end(crowd, Fault { call: "clone", first, count, errno: libc::EAGAIN });
            let what = if count == 1 { ended.success() } else { reported(&ended) };
            assert!(what, "without thread {first}, {count} times: {}:\n{}", ended.how(), ended.stderr);
        }
    }
}

/// Returns whether it ended because a thread couldn't be made, and says so.
fn reported(ended: &Ended) -> bool {
    ended.stderr.contains("runtime: failed to create a new OS thread (have ")
        && ended.stderr.contains("fatal error: newosproc\n")
}

/// The bounds of a thread's stack are unknown. The runtime's own threads do without them, and a
/// foreign thread can't wait as a goroutine does.
#[test]
fn no_bounds_of_a_threads_stack() {
    let fault = Fault { call: "pthread_getattr_np", first: 1, count: EVER, errno: libc::ENOMEM };
    for part in ["goroutines", "timers", "sockets", "locked", "blocking"] {
        let ended = end(program(Some(part)), fault);
        assert!(ended.success(), "{part}: {}:\n{}", ended.how(), ended.stderr);
    }
    let ended = end(program(Some("threads")), fault);
    let cause = "this thread can't be made a goroutine: Cannot allocate memory";
    assert!(ended.stderr.contains(cause), "{}:\n{}", ended.how(), ended.stderr);
}
