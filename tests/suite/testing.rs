//! `testing::Test`: tests on goroutines, which fail if they panic, hang, or leave goroutines
//! behind.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use gosched::chan::{Receiver, bounded};
use gosched::iter::pull;
use gosched::signal::{self, Signal};
use gosched::testing;
use gosched::time::sleep;
use gosched::{go, goexit, goid, run, scope, yield_now};

use crate::harness::panics::panics;
use crate::harness::process::{Ended, Process};
use crate::harness::{Test, tests};

tests! {
    on_a_goroutine_of_its_name
    a_panic_fails_it
    so_does_goexit
    one_that_hangs
    one_that_computes_for_ever
    one_that_leaves_goroutines
    leaks_are_allowed
    who_is_about_to_end_is_waited_for
    all_kinds_of_goroutines_that_end
    at_once_each_has_its_own
    who_serves_everybody_is_no_leak
}

const MS: Duration = Duration::from_millis(1);

/// Waits to receive. Nobody sends, and nobody closes the channel.
fn waits_for_ever() {
    let (tx, rx) = bounded::<()>(0);
    std::mem::forget(tx);
    rx.recv().ok();
}

fn on_a_goroutine_of_its_name(test: Test) {
    let process = test.process(|| {
        let id = testing::Test::new("fifth").run(goid);
        assert_ne!(id, 0);
        testing::Test::new("sixth").run(|| panic!("its hook says whose it is"));
    });
    process.end().with("exit status: 101").says("\"sixth\"");
}

fn a_panic_fails_it() {
    assert_eq!(panics(|| testing::Test::new("fails").run(|| panic!("{} isn't {}", 6, 7))), "6 isn't 7");
}

fn so_does_goexit() {
    assert!(panics(|| testing::Test::new("exits").run(|| goexit())).contains("goexit"));
}

/// The environment variable with a process's time limit, in hundredths of the usual limit.
const PERCENT: &str = "GOSCHED_TEST_PERCENT";

/// Returns the time limit of a test of `testing` in such a process. (The same setting is in
/// `GODEBUG`.)
fn timeout() -> Duration {
    let percent: u32 = std::env::var(PERCENT).unwrap().parse().unwrap();
    percent * Duration::from_millis(50)
}

/// Fails unless a process fails because its time is over, and prints `says`. On a slow machine its
/// goroutines may not have come far enough by then, so it gets more and more time.
fn fails_in_time(process: impl Fn() -> Process, says: &[&str]) {
    let ends = |percent: i32| {
        let percent = percent.to_string();
        let ended = process().also(&format!("period={percent}")).env(PERCENT, &percent).end();
        ended.with("exit status: 101");
        ended
    };
    let says_all = |ended: &Ended| says.iter().all(|text| ended.stderr.contains(text));
    let percents = [1, 4, 16, 64, 256, 1024];
    if !percents.into_iter().any(|percent| says_all(&ends(percent))) {
        says.iter().for_each(|text| _ = ends(1024).says(text));
    }
}

fn one_that_hangs(test: Test) {
    let hangs = || testing::Test::new("hangs").timeout(timeout()).run(waits_for_ever);
    let says = ["the test \"hangs\" hasn't ended after ", "\"hangs\" [chan receive]", "waits_for_ever"];
    fails_in_time(|| test.process(hangs), &says);
}

fn one_that_computes_for_ever(test: Test) {
    static OVER: AtomicBool = AtomicBool::new(false);
    fn computes_for_ever() {
        while !OVER.load(Ordering::Relaxed) {
            spin_loop();
        }
    }
    let computes = || testing::Test::new("computes").timeout(timeout()).run(computes_for_ever);
    fails_in_time(|| test.process(computes), &["hasn't ended after ", "computes_for_ever"]);
}

fn one_that_leaves_goroutines(test: Test) {
    let leaves = || {
        testing::Test::new("leaves").run(|| {
            go(waits_for_ever);
            // The goroutine that made the other goroutine is gone.
            go(|| drop(go(waits_for_ever))).join().unwrap();
        });
    };
    let left = "the test \"leaves\" has left goroutines behind, 2 of them";
    let says = [left, "waits_for_ever", "created at tests/suite/testing.rs"];
    fails_in_time(|| test.process(leaves), &says);
}

fn leaks_are_allowed() {
    let left = testing::Test::new("leaves").leaks(true).run(|| go(waits_for_ever));
    assert!(!left.is_finished());
}

/// Runs `body` in a process that waits for goroutines that are about to end, as long as a slow
/// machine needs.
fn patiently(test: Test, body: impl FnOnce()) {
    test.process(body).also("period=10000").end().with("exit status: 0");
}

fn who_is_about_to_end_is_waited_for(test: Test) {
    patiently(test, || {
        for i in 0..300 {
            testing::Test::new("ends").run(move || {
                go(move || (0..i).for_each(|_| yield_now()));
            });
        }
        testing::Test::new("ends later").run(|| drop(go(|| sleep(100 * MS))));
    });
}

fn all_kinds_of_goroutines_that_end(test: Test) {
    patiently(test, || {
        let sum = testing::Test::new("sums").run(|| {
            let pulled: u32 = pull(|y| (1..=3).for_each(|n| y.yield_(n))).sum();
            let joined = go(|| 4).join().unwrap();
            scope(|s| {
                s.go(yield_now);
                pulled + joined
            })
        });
        assert_eq!(sum, 10);
    });
}

fn at_once_each_has_its_own(test: Test) {
    patiently(test, at_once);
}

fn at_once() {
    fn until_closed(over: Receiver<()>) {
        over.recv().ok();
    }
    let before = run(|| go(waits_for_ever));
    thread::scope(|s| {
        for i in 0..8_u32 {
            s.spawn(move || {
                let leaks = i % 2 == 0;
                let left = testing::Test::new("one of many").leaks(leaks).run(move || {
                    let (tx, rx) = bounded(0);
                    go(move || until_closed(rx));
                    if leaks {
                        go(waits_for_ever);
                    }
                    drop(tx);
                    i
                });
                assert_eq!(left, i);
            });
        }
    });
    assert!(!before.is_finished());
}

fn who_serves_everybody_is_no_leak(test: Test) {
    patiently(test, is_told_of_a_signal);
}

fn is_told_of_a_signal() {
    // The first request for a signal makes a goroutine that stays. A blocked signal makes another.
    // SAFETY: the mask is initialised first.
    unsafe {
        let mut mask = std::mem::zeroed();
        libc::sigemptyset(&mut mask);
        libc::sigaddset(&mut mask, libc::SIGUSR1);
        assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, &mask, std::ptr::null_mut()), 0);
    }
    testing::Test::new("is told of a signal").run(|| {
        let signals = signal::notify([Signal::USR1]).unwrap();
        // SAFETY: a handler is installed.
        assert_eq!(unsafe { libc::kill(libc::getpid(), libc::SIGUSR1) }, 0);
        assert_eq!(signals.c().recv(), Ok(Signal::USR1));
    });
}
