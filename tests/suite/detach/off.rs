//! Cases in which no goroutine loses its P, because a setting forbids it or a program blocks
//! signals; and cases in which more goroutines would than the limit allows.

use std::hint::spin_loop;
use std::mem::{forget, zeroed};
use std::process::exit;
use std::ptr;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::thread;

use gosched::proc::{self, Hooks};
use gosched::runtime2::G;
use gosched::{go, lock_os_thread, run, scope, set_max_detached, yield_now};

use super::ends::threads;
use crate::harness::goroutines::wait_until;
use crate::harness::polled::MS;
use crate::harness::process::{Process, wait_for_end_of_stdin};
use crate::harness::sandbox::{NO_FILTER, refuse};
use crate::harness::{Test, tests};

tests! {
    by_default_it_is_on
    by_its_own_setting
    with_asynchronous_preemption
    by_a_call
    by_a_hook_that_needs_a_p
    without_signals
    in_a_sandbox_without_signals
    more_that_wait_than_the_limit
    #[slow] more_that_compute_than_the_limit
}

/// The status of a process in which a computing goroutine has kept its P although sysmon wanted it.
const NEVER: i32 = 7;

/// The goroutine that waits, if it does, and how often it has looked.
static WAITS: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());
static TURNS: AtomicUsize = AtomicUsize::new(0);

/// Returns a process in which a goroutine waits in a loop for another, on one P. It calls `first`
/// before. The other goroutine doesn't count until then: where time slices end early, it may have
/// had its turn.
fn a_loop(test: Test, godebug: &str, before: fn(), first: impl Fn() + Sync) -> Process {
    let process = test.process(|| {
        before();
        run(|| {
            static FLAG: AtomicBool = AtomicBool::new(false);
            drop(go(|| {
                wait_until(|| !WAITS.load(Ordering::Relaxed).is_null());
                FLAG.store(true, Ordering::Relaxed);
            }));
            first();
            // If this goroutine has lost its P meanwhile, it gets one back here.
            yield_now();
            WAITS.store(proc::getg(), Ordering::Relaxed);
            while !FLAG.load(Ordering::Relaxed) {
                TURNS.fetch_add(1, Ordering::Relaxed);
                spin_loop();
            }
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", godebug)
}

fn nothing() {}

/// Returns once sysmon has asked the waiting goroutine to stop, and has often looked at it since,
/// while it computed.
fn wait_for_looks() {
    let asked = || {
        // SAFETY: G's are never freed.
        let waits = unsafe { WAITS.load(Ordering::Relaxed).as_ref() };
        waits.is_some_and(|gp| gp.preempt.load(Ordering::Relaxed))
    };
    // SAFETY: there is one schedt, which is never freed, and this field is an atomic.
    let looks = || unsafe { (*proc::sched()).ext.turns.rounds.load(Ordering::Relaxed) };
    while !asked() {
        thread::sleep(MS);
    }
    for _ in 0..10 {
        let (look, turn) = (looks(), TURNS.load(Ordering::Relaxed));
        while looks() == look || TURNS.load(Ordering::Relaxed) - turn < 10_000 {
            thread::sleep(MS);
        }
    }
}

/// Fails if the loop ends. Ends the process once the loop has gone on for long, and the process has
/// written `said`.
fn never_ends(test: Test, godebug: &str, before: fn(), first: fn(), said: &str) {
    let process = a_loop(test, godebug, before, || {
        thread::spawn(|| {
            wait_for_looks();
            wait_for_end_of_stdin();
            wait_for_looks();
            exit(NEVER);
        });
        first();
    });
    let ended = if said.is_empty() { process.end() } else { process.end_after(said) };
    ended.with(&format!("exit status: {NEVER}")).says(said);
}

fn by_default_it_is_on(test: Test) {
    a_loop(test, "", nothing, nothing).end().with("exit status: 0");
}

fn by_its_own_setting(test: Test) {
    never_ends(test, "detach=0", nothing, nothing, "");
}

fn with_asynchronous_preemption(test: Test) {
    never_ends(test, "asyncpreemptoff=1", nothing, nothing, "");
}

fn by_a_call(test: Test) {
    never_ends(test, "", || proc::set_detach(false), nothing, "");
}

fn by_a_hook_that_needs_a_p(test: Test) {
    fn gdestroy(_: &G) {}
    // SAFETY: the hook does nothing.
    let before = || unsafe { proc::set_hooks(Hooks { gdestroy: Some(gdestroy), ..Hooks::default() }) };
    never_ends(test, "", before, nothing, "");
}

fn without_signals(test: Test) {
    let first = || {
        forget(lock_os_thread());
        // SAFETY: blocks a signal on this thread.
        unsafe {
            let mut set = zeroed();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGURG);
            assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, &set, ptr::null_mut()), 0);
        }
    };
    never_ends(test, "", nothing, first, "");
}

fn in_a_sandbox_without_signals(test: Test) {
    if test.skipped_in_emulator(NO_FILTER) {
        return;
    }
    let before = || refuse(libc::SYS_tgkill, None, libc::EPERM);
    never_ends(test, "", before, nothing, "gosched: a thread can't be sent a signal");
}

/// Each goroutine waits for all others, on a thread of its own: the limit counts only goroutines
/// that compute.
fn more_that_wait_than_the_limit(test: Test) {
    const ALL: usize = 50;
    let process = test.process(|| {
        set_max_detached(5);
        run(|| {
            let barrier = Barrier::new(ALL);
            scope(|s| {
                for _ in 0..ALL {
                    s.go(|| barrier.wait());
                }
            });
            assert!(threads() >= ALL, "{} threads", threads());
        });
    });
    let process = process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=1").env("GOSCHED_STD", "0");
    process.end().with("exit status: 0");
}

/// Each goroutine computes until all others have begun to compute.
fn more_that_compute_than_the_limit(test: Test) {
    const ALL: usize = 4;
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    let process = test.process(|| {
        set_max_detached(1);
        run(|| {
            scope(|s| {
                for _ in 0..ALL {
                    s.go(|| {
                        BEGUN.fetch_add(1, Ordering::Relaxed);
                        while BEGUN.load(Ordering::Relaxed) < ALL {
                            spin_loop();
                        }
                    });
                }
            });
        });
    });
    let said = "gosched: 1 goroutines that compute wait for their turn";
    let ended = process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=1").end();
    ended.with("exit status: 0");
    assert_eq!(ended.stderr.matches(said).count(), 1, "{}", ended.stderr);
}
