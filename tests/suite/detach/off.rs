//! Where no goroutine loses its P, because somebody doesn't want that, or doesn't let signals come; and where only so
//! many do.

use std::hint::spin_loop;
use std::mem::{forget, zeroed};
use std::process::exit;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use gosched::proc::{self, Hooks};
use gosched::runtime2::G;
use gosched::{go, lock_os_thread, run, scope, set_max_detached, yield_now};

use super::ends::threads;
use crate::harness::goroutines::wait_until;
use crate::harness::polled::MS;
use crate::harness::process::Ended;
use crate::harness::sandbox::{NO_FILTER, refuse};
use crate::harness::{Test, tests};

tests! {
    by_default_it_is_on
    by_its_own_setting
    with_asynchronous_preemption
    by_a_call
    by_a_hook_that_needs_a_p
    by_a_limit_of_none
    without_signals
    in_a_sandbox_without_signals
    no_more_than_the_limit
}

/// The status of a process in which a goroutine hasn't had its turn for seconds.
const NEVER: i32 = 7;

/// How a process ends in which a goroutine waits for another, on one P, in a loop. `first` is called on it. The other one
/// doesn't count before that: where time slices end early, it has its turn then.
fn a_loop(test: Test, godebug: &str, before: fn(), first: impl Fn() + Sync) -> Ended {
    let process = test.process(|| {
        before();
        run(|| {
            static WAITS: AtomicBool = AtomicBool::new(false);
            static FLAG: AtomicBool = AtomicBool::new(false);
            drop(go(|| {
                wait_until(|| WAITS.load(Ordering::Relaxed));
                FLAG.store(true, Ordering::Relaxed);
            }));
            first();
            // If it has lost its processor meanwhile, it gets one back.
            yield_now();
            WAITS.store(true, Ordering::Relaxed);
            while !FLAG.load(Ordering::Relaxed) {
                spin_loop();
            }
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", godebug).end()
}

fn nothing() {}

fn never_ends(test: Test, godebug: &str, before: fn(), first: fn()) -> Ended {
    let ended = a_loop(test, godebug, before, || {
        thread::spawn(|| {
            thread::sleep(Duration::from_secs(2));
            exit(NEVER);
        });
        first();
    });
    ended.with(&format!("exit status: {NEVER}"));
    ended
}

fn by_default_it_is_on(test: Test) {
    a_loop(test, "", nothing, nothing).with("exit status: 0");
}

fn by_its_own_setting(test: Test) {
    never_ends(test, "detach=0", nothing, nothing);
}

fn with_asynchronous_preemption(test: Test) {
    never_ends(test, "asyncpreemptoff=1", nothing, nothing);
}

fn by_a_call(test: Test) {
    never_ends(test, "", || proc::set_detach(false), nothing);
}

fn by_a_hook_that_needs_a_p(test: Test) {
    fn gdestroy(_: &G) {}
    // SAFETY: the hook does nothing.
    let before = || unsafe { proc::set_hooks(Hooks { gdestroy: Some(gdestroy), ..Hooks::default() }) };
    never_ends(test, "", before, nothing);
}

fn by_a_limit_of_none(test: Test) {
    let before = || assert_ne!(set_max_detached(0), 0);
    let ended = never_ends(test, "", before, nothing);
    ended.says("gosched: no more than 0 goroutines may go on without a processor");
}

fn without_signals(test: Test) {
    never_ends(test, "", nothing, || {
        forget(lock_os_thread());
        // SAFETY: blocks a signal on this thread.
        unsafe {
            let mut set = zeroed();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGURG);
            assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, &set, ptr::null_mut()), 0);
        }
    });
}

fn in_a_sandbox_without_signals(test: Test) {
    if test.skipped_in_emulator(NO_FILTER) {
        return;
    }
    let before = || refuse(libc::SYS_tgkill, None, libc::EPERM);
    let ended = never_ends(test, "", before, nothing);
    ended.says("gosched: a thread can't be sent a signal");
}

fn no_more_than_the_limit(test: Test) {
    const MAX: usize = 5;
    let process = test.process(|| {
        set_max_detached(MAX);
        run(|| {
            scope(|s| {
                for _ in 0..50 {
                    s.go(|| {
                        thread::sleep(200 * MS);
                        assert!(threads() <= MAX + 10, "{} threads", threads());
                    });
                }
            });
        });
    });
    let ended = process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=1").end();
    ended.with("exit status: 0");
    let said = "gosched: no more than 5 goroutines may go on without a processor";
    assert_eq!(ended.stderr.matches(said).count(), 1, "{}", ended.stderr);
}
