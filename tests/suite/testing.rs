//! `testing::Test`: tests on goroutines, which fail if they panic, hang, or leave goroutines behind.

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

/// Nobody sends, and nobody closes the channel.
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

/// Longer than it takes a goroutine to come to what it does, on a slow machine.
const LONG: Duration = Duration::from_secs(2);

fn one_that_hangs(test: Test) {
    let process = test.process(|| testing::Test::new("hangs").timeout(LONG).run(waits_for_ever));
    let ended = process.end();
    ended.with("exit status: 101").says("the test \"hangs\" hasn't ended after 2s");
    ended.says("\"hangs\" [chan receive]").says("waits_for_ever");
}

fn one_that_computes_for_ever(test: Test) {
    static OVER: AtomicBool = AtomicBool::new(false);
    fn computes_for_ever() {
        while !OVER.load(Ordering::Relaxed) {
            spin_loop();
        }
    }
    let process = test.process(|| testing::Test::new("computes").timeout(LONG).run(computes_for_ever));
    process.end().with("exit status: 101").says("hasn't ended after 2s").says("computes_for_ever");
}

fn one_that_leaves_goroutines(test: Test) {
    let process = test.process(|| {
        testing::Test::new("leaves").run(|| {
            go(waits_for_ever);
            // Who made the other one is gone.
            go(|| drop(go(waits_for_ever))).join().unwrap();
        });
    });
    let ended = process.end();
    ended.with("exit status: 101").says("the test \"leaves\" has left goroutines behind, 2 of them");
    ended.says("waits_for_ever").says("created at tests/suite/testing.rs");
}

fn leaks_are_allowed() {
    let left = testing::Test::new("leaves").leaks(true).run(|| go(waits_for_ever));
    assert!(!left.is_finished());
}

fn who_is_about_to_end_is_waited_for() {
    for i in 0..300 {
        testing::Test::new("ends").run(move || {
            go(move || (0..i).for_each(|_| yield_now()));
        });
    }
    testing::Test::new("ends later").run(|| drop(go(|| sleep(100 * MS))));
}

fn all_kinds_of_goroutines_that_end() {
    let sum = testing::Test::new("sums").run(|| {
        let pulled: u32 = pull(|y| (1..=3).for_each(|n| y.yield_(n))).sum();
        let joined = go(|| 4).join().unwrap();
        scope(|s| {
            s.go(yield_now);
            pulled + joined
        })
    });
    assert_eq!(sum, 10);
}

fn at_once_each_has_its_own() {
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

fn who_serves_everybody_is_no_leak() {
    // The first signal that is asked for makes a goroutine that stays; one that is blocked makes another.
    // SAFETY: the mask is initialised first.
    unsafe {
        let mut mask = std::mem::zeroed();
        libc::sigemptyset(&mut mask);
        libc::sigaddset(&mut mask, libc::SIGUSR1);
        assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, &mask, std::ptr::null_mut()), 0);
    }
    testing::Test::new("is told of a signal").run(|| {
        let signals = signal::notify([Signal::USR1]).unwrap();
        // SAFETY: there is a handler.
        assert_eq!(unsafe { libc::kill(libc::getpid(), libc::SIGUSR1) }, 0);
        assert_eq!(signals.c().recv(), Ok(Signal::USR1));
    });
}
